import type { BaseMessage } from "@langchain/core/messages";
import { MessagesValue, StateSchema, UntrackedValue } from "@langchain/langgraph";
import { type ChannelField, channelField, type LonghaulChannel } from "@longhaul/core";
import { z } from "zod/v4";

const CHANNELS = [
  "_longhaulTask",
  "_longhaulMemory",
  "_longhaulData",
  "_longhaulProgress",
  "_longhaulLoops",
  "_longhaulBudget",
  "_longhaulRun",
] as const satisfies readonly LonghaulChannel[];

/** The request that `contextNode` prepared for the next model node. Lives for one superstep, is never stored. */
export interface LonghaulRequest {
  /** Messages to send, system message first. */
  readonly messages: readonly BaseMessage[];
  /** Names of tools to withhold from this call. */
  readonly withheld: readonly string[];
}

/** Longhaul's channels, to spread into a StateSchema of one's own: `new StateSchema({ messages: MessagesValue, ...longhaulChannels })`. */
export const longhaulChannels: { readonly [K in LonghaulChannel]: ChannelField<K> } & {
  readonly longhaulRequest: UntrackedValue<LonghaulRequest | undefined>;
} = {
  ...(Object.fromEntries(CHANNELS.map((name) => [name, channelField(name)])) as {
    [K in LonghaulChannel]: ChannelField<K>;
  }),
  longhaulRequest: new UntrackedValue(z.any().optional()) as UntrackedValue<LonghaulRequest | undefined>,
};

/** `messages` and Longhaul's channels. */
export const LonghaulState = new StateSchema({ messages: MessagesValue, ...longhaulChannels });

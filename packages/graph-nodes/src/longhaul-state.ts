import type { BaseMessage } from "@langchain/core/messages";
import { MessagesValue, ReducedValue, StateSchema, UntrackedValue } from "@langchain/langgraph";
import {
  type ChannelField,
  channelField,
  type LonghaulChannel,
  type LonghaulValues,
  type Notice,
} from "@longhaul/core";
import { z } from "zod/v4";

/** The request that `contextNode` prepared for the next model node. Lives for one superstep, is never stored. */
export interface LonghaulRequest {
  /** Messages to send, system message first. */
  readonly messages: readonly BaseMessage[];
  /** Tokens of the request before calibration: what the provider's count is compared with. */
  readonly estimated: number;
}

/** Channel `_longhaulNotices`: lines of the guard for the next model call. */
export interface PendingNotices {
  readonly v: 1;
  readonly notices: readonly Notice[];
}

/** What the nodes read: messages, Longhaul's channels, and what one node leaves for the next. */
export interface LonghaulNodeState extends LonghaulValues {
  readonly messages: BaseMessage[];
  readonly longhaulRequest?: LonghaulRequest | undefined;
  readonly _longhaulNotices?: PendingNotices | undefined;
}

/** Longhaul's channels, to spread into a StateSchema of one's own: `new StateSchema({ messages: MessagesValue, ...longhaulChannels })`. */
export const longhaulChannels: {
  readonly [K in LonghaulChannel]: ChannelField<K>;
} & {
  readonly _longhaulNotices: ReducedValue<PendingNotices | undefined, PendingNotices | undefined>;
  readonly longhaulRequest: UntrackedValue<LonghaulRequest | undefined>;
} = {
  _longhaulTask: channelField("_longhaulTask"),
  _longhaulMemory: channelField("_longhaulMemory"),
  _longhaulData: channelField("_longhaulData"),
  _longhaulProgress: channelField("_longhaulProgress"),
  _longhaulLoops: channelField("_longhaulLoops"),
  _longhaulBudget: channelField("_longhaulBudget"),
  _longhaulRun: channelField("_longhaulRun"),
  // A crash between two nodes must not lose a hint that is given only once, so notices are saved, unlike the request.
  _longhaulNotices: new ReducedValue(
    z.any().optional().describe("Lines for the next model call, from the guard"),
    {
      reducer: (_current: unknown, next: unknown) => next,
    },
  ) as ReducedValue<PendingNotices | undefined, PendingNotices | undefined>,
  longhaulRequest: new UntrackedValue(z.any().optional()) as UntrackedValue<LonghaulRequest | undefined>,
};

/** `messages` and Longhaul's channels. */
export const LonghaulState = new StateSchema({ messages: MessagesValue, ...longhaulChannels });

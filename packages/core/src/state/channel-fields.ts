import { ReducedValue } from "@langchain/langgraph";
import { z } from "zod/v4";
import { CHANNEL_REDUCERS } from "./channel-reducers.ts";
import { CHANNEL_DESCRIPTIONS, type LonghaulChannel, type LonghaulValues } from "./channels.ts";

/** State field of one channel. */
export type ChannelField<K extends LonghaulChannel> = ReducedValue<LonghaulValues[K], LonghaulValues[K]>;

const fields = new Map<LonghaulChannel, unknown>();

/**
 * The LangGraph state field of a channel: one object per channel, so that everything that declares it agrees on it.
 * Loose on purpose: a strict schema is parsed before our code and would kill a run whose state an older version wrote;
 * what is in a channel is validated and migrated by the `read…` function of its concern.
 */
export function channelField<K extends LonghaulChannel>(channel: K): ChannelField<K> {
  let field = fields.get(channel) as ChannelField<K> | undefined;
  if (!field) {
    field = new ReducedValue(z.any().optional().describe(CHANNEL_DESCRIPTIONS[channel]), {
      reducer: CHANNEL_REDUCERS[channel] as (current: unknown, next: unknown) => unknown,
    }) as ChannelField<K>;
    fields.set(channel, field);
  }
  return field;
}

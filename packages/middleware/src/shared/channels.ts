import { ReducedValue, StateSchema } from "@langchain/langgraph";
import {
  CHANNEL_DESCRIPTIONS,
  CHANNEL_REDUCERS,
  type LonghaulChannel,
  type LonghaulValues,
} from "@longhaul/core";
import { z } from "zod/v4";

/** State field of a channel of Longhaul, loose on purpose: what is in it is validated and migrated in core. */
export type ChannelField<K extends LonghaulChannel> = ReducedValue<LonghaulValues[K], LonghaulValues[K]>;

const fields = new Map<LonghaulChannel, ReducedValue<unknown, unknown>>();

/** One object per channel, so that middleware that share a channel agree on it. */
function fieldOf(channel: LonghaulChannel): ReducedValue<unknown, unknown> {
  let field = fields.get(channel);
  if (!field) {
    field = new ReducedValue(z.any().optional().describe(CHANNEL_DESCRIPTIONS[channel]), {
      reducer: CHANNEL_REDUCERS[channel] as (current: unknown, next: unknown) => unknown,
    });
    fields.set(channel, field);
  }
  return field;
}

/** State schema of a middleware: the channels that it reads or writes. A middleware sees no others. */
export function channelSchema<K extends LonghaulChannel>(
  ...channels: K[]
): StateSchema<{ [P in K]: ChannelField<P> }> {
  const shape = Object.fromEntries(channels.map((channel) => [channel, fieldOf(channel)]));
  return new StateSchema(shape) as unknown as StateSchema<{ [P in K]: ChannelField<P> }>;
}

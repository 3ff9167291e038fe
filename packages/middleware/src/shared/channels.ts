import { StateSchema } from "@langchain/langgraph";
import { type ChannelField, channelField, type LonghaulChannel } from "@longhaul/core";

/** State schema of a middleware: the channels that it reads or writes. A middleware sees no others. */
export function channelSchema<K extends LonghaulChannel>(
  ...channels: K[]
): StateSchema<{ [P in K]: ChannelField<P> }> {
  const shape = Object.fromEntries(channels.map((channel) => [channel, channelField(channel)]));
  return new StateSchema(shape as { [P in K]: ChannelField<P> });
}

import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type LonghaulEvent, messageText } from "@longhaul/core";
import { StrictChatModel, type StrictChatModelOptions } from "@longhaul/test-kit";
import { z } from "zod/v4";

export const ask = (text: string) => ({ messages: [new HumanMessage(text)] });

export const make = (name: string, body: (q: string, runtime: never) => unknown) =>
  tool((args, runtime) => body(args.q ?? "", runtime as never), {
    name,
    description: `Tool ${name}`,
    schema: z.object({ q: z.string().optional() }),
  });

export const strict = (
  script: StrictChatModelOptions["script"],
  options: Omit<StrictChatModelOptions, "script"> = {},
) => new StrictChatModel({ script, profile: { maxInputTokens: 32_000 }, ...options });

/** Texts of a request, one for each message. */
export const textsOf = (request: { readonly messages: readonly BaseMessage[] } | undefined) =>
  (request?.messages ?? []).map((message) => messageText(message));

export const resultsOf = (state: { readonly messages: readonly BaseMessage[] }) =>
  state.messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));

/** Calls without a result directly behind them. */
export const openCallsOf = ({ messages }: { readonly messages: readonly BaseMessage[] }) => {
  const answered = new Set(resultsOf({ messages }).map((message) => message.tool_call_id));
  return messages.flatMap((message) =>
    ((message as { tool_calls?: { id?: string }[] }).tool_calls ?? []).filter(
      ({ id }) => !answered.has(id ?? ""),
    ),
  );
};

export const recorder = () => {
  const seen: LonghaulEvent[] = [];
  return {
    sink: (event: LonghaulEvent) => void seen.push(event),
    seen,
    of: (type: LonghaulEvent["type"]) => seen.filter((event) => event.type === type),
  };
};

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";

/** One part of a message's content, in OpenAI's chat form or a provider's own. */
export type WirePart = { readonly type?: string; readonly text?: string; readonly [key: string]: unknown };

export interface WireToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message as it stands in an OpenAI-compatible request. */
export interface WireMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content?: string | readonly WirePart[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly WireToolCall[];
  readonly tool_call_id?: string;
}

/** A tool as it is offered in a request. */
export interface WireTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: unknown };
}

const ROLES: Readonly<Record<string, WireMessage["role"]>> = {
  ai: "assistant",
  human: "user",
  system: "system",
  developer: "developer",
  tool: "tool",
};

export function isBaseMessage(message: WireMessage | BaseMessage): message is BaseMessage {
  return typeof (message as BaseMessage).getType === "function";
}

/** The wire form of a LangChain message, as the OpenAI client would send it; wire messages pass through. */
export function toWire(message: WireMessage | BaseMessage): WireMessage {
  if (!isBaseMessage(message)) return message;
  const type = message.getType();
  const calls = type === "ai" ? callsOf(message as AIMessage) : [];
  return {
    role: ROLES[type] ?? "user",
    content: message.content as string | readonly WirePart[],
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(type === "tool" ? { tool_call_id: (message as ToolMessage).tool_call_id } : {}),
  };
}

/** Text of a message: its text parts joined by line breaks. */
export function wireText(message: WireMessage): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? [])
    .map((part) => (typeof part === "string" ? part : typeof part.text === "string" ? part.text : ""))
    .filter((text) => text !== "")
    .join("\n");
}

/** A client sends parsed calls if there are any, and the provider's raw ones (with broken arguments) otherwise. */
function callsOf(message: AIMessage): WireToolCall[] {
  const parsed = message.tool_calls ?? [];
  const raw = (message.additional_kwargs as { tool_calls?: WireToolCall[] } | undefined)?.tool_calls;
  if (parsed.length === 0 && Array.isArray(raw)) return raw;
  return parsed.map((call) => ({
    id: call.id ?? "",
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.args) },
  }));
}

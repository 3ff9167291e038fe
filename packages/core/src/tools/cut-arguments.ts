import type { BaseMessage } from "@langchain/core/messages";
import { parsePartialJson } from "@langchain/core/output_parsers";
import { canonicalJson } from "../json/canonical-json.ts";
import { isAssistant } from "../messages/groups.ts";

/**
 * Whether a call's arguments are what was left of a model's answer that was cut off in the middle of them. Clients that stream
 * complete such arguments to JSON, so a tool would run with half of an address.
 *
 * The text that the provider sent is kept in the message beside the call. Arguments that somebody has edited since are not it.
 */
export function areArgumentsCut(
  messages: readonly BaseMessage[],
  call: { readonly id: string; readonly name: string; readonly args: unknown },
): boolean {
  const message = messages.findLast(
    (one) => isAssistant(one) && one.tool_calls?.some(({ id, name }) => id === call.id && name === call.name),
  );
  return message !== undefined && sentTexts(message, call.id).some((text) => isCut(text, call.args));
}

/** Arguments as text, where the message has them: OpenAI's form, streamed chunks, Anthropic's form. */
function sentTexts(message: BaseMessage, id: string): string[] {
  const { additional_kwargs, content } = message;
  const { tool_call_chunks: chunks } = message as { readonly tool_call_chunks?: unknown };
  const wire = listOf(additional_kwargs.tool_calls).filter((one) => one.id === id);
  const streamed = listOf(chunks).filter((one) => one.id === id);
  const blocks = listOf(content).filter((one) => one.type === "tool_use" && one.id === id);
  const texts = [
    ...wire.map((one) => (one.function as { readonly arguments?: unknown } | undefined)?.arguments),
    ...streamed.map((one) => one.args),
    ...blocks.map((one) => one.input),
  ];
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value)
    ? value.filter((one): one is Record<string, unknown> => typeof one === "object" && one !== null)
    : [];
}

function isCut(text: string, args: unknown): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch {
    // what a client makes of a part
  }
  try {
    return canonicalJson(parsePartialJson(text)) === canonicalJson(args);
  } catch {
    return false;
  }
}

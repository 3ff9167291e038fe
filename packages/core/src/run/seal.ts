import { AIMessage } from "@langchain/core/messages";
import type { RunStatus, StopReason } from "./run-state.ts";

/** How a guard ends a run: the model is not called, this message is its answer and the history stays valid. */
export interface Seal {
  readonly status: Extract<RunStatus, "PAUSED" | "FAILED" | "NEEDS_HUMAN">;
  readonly reason: StopReason;
}

const FIELD = "longhaul_seal";

/**
 * Answers that a guard replaced, by what it put in their place. Where middlewares nest, the outer ones are handed what the
 * model said although the inner one has returned a sealed copy in a Command; they look here for the one that counts.
 */
const replacements = new WeakMap<AIMessage, AIMessage>();

/**
 * The closing assistant message of a guard. `runStatus`, outermost, reads the seal from it and writes the run channel.
 *
 * @param id needed where nested wrappers write it more than once in a step; without one it would stand there twice
 */
export function sealMessage(seal: Seal, text: string, id?: string): AIMessage {
  return new AIMessage({
    content: text,
    response_metadata: { [FIELD]: { ...seal } },
    ...(id === undefined ? {} : { id }),
  });
}

/**
 * A copy of an answer with a seal.
 *
 * @param options.withoutCalls takes the tool calls out and keeps the text: a call that will not be run must not be left
 *   unanswered in the history
 * @param options.emptyText text for an answer that has none left
 */
export function sealed(
  message: AIMessage,
  seal: Seal,
  options: { readonly withoutCalls?: boolean; readonly emptyText?: string } = {},
): AIMessage {
  const content = options.withoutCalls ? contentWithoutCalls(message.content) : message.content;
  const { tool_calls: _wireCalls, function_call: _wireCall, ...kept } = message.additional_kwargs;
  const copy = new AIMessage({
    content: isEmpty(content) && options.emptyText !== undefined ? options.emptyText : content,
    ...(message.id === undefined ? {} : { id: message.id }),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(options.withoutCalls ? {} : { tool_calls: message.tool_calls ?? [] }),
    additional_kwargs: options.withoutCalls ? kept : message.additional_kwargs,
    ...(message.usage_metadata ? { usage_metadata: message.usage_metadata } : {}),
    response_metadata: { ...message.response_metadata, [FIELD]: { ...seal } },
  } as ConstructorParameters<typeof AIMessage>[0]);
  return replaceAnswer(message, copy);
}

/** Lets `replacement` stand for the model's answer from here on, also to middleware that is handed the answer itself. */
export function replaceAnswer(answer: AIMessage, replacement: AIMessage): AIMessage {
  replacements.set(answer, replacement);
  return replacement;
}

export function readSeal(message: AIMessage): Seal | undefined {
  const value = (message.response_metadata as Record<string, unknown> | undefined)?.[FIELD];
  return typeof value === "object" && value !== null ? (value as Seal) : undefined;
}

/** What stands for an answer now: itself, or what a guard put in its place. */
export function latestAnswer(message: AIMessage): AIMessage {
  let latest = message;
  for (let next = replacements.get(latest); next; next = replacements.get(latest)) latest = next;
  return latest;
}

function contentWithoutCalls(content: AIMessage["content"]): AIMessage["content"] {
  if (typeof content === "string") return content;
  return content.filter((block) => !CALL_BLOCKS.has(String((block as { type?: unknown }).type)));
}

/** Tool calls as content blocks, by provider. */
const CALL_BLOCKS = new Set(["tool_use", "tool_call", "function_call", "functionCall"]);

function isEmpty(content: AIMessage["content"]): boolean {
  if (typeof content === "string") return content.trim() === "";
  return !content.some(
    (block) =>
      (block as { type?: unknown; text?: unknown }).type !== "text" ||
      String((block as { text?: unknown }).text).trim() !== "",
  );
}

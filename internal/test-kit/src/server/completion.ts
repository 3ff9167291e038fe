import type { Reply } from "../script/reply.ts";
import { type ReplyParts, replyParts } from "../script/reply.ts";
import { countTextTokens } from "../wire/count-tokens.ts";
import type { WireToolCall } from "../wire/wire-message.ts";

interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

/** One answer in OpenAI's terms, not yet bound to a form of transport. */
export interface Completion {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly content: string | null;
  readonly toolCalls: readonly WireToolCall[];
  readonly finishReason: string;
  readonly usage: CompletionUsage | undefined;
}

export interface CompletionFacts {
  readonly model: string;
  readonly created: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Unique ids of the provider. */
  readonly newId: (kind: "chatcmpl" | "call") => string;
}

export function completionOf(reply: Exclude<Reply, Error>, facts: CompletionFacts): Completion {
  const parts = replyParts(reply);
  const toolCalls = (parts.toolCalls ?? []).map(
    (call): WireToolCall => ({
      id: call.id ?? facts.newId("call"),
      type: "function",
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    }),
  );
  const content = textOf(parts.content);
  return {
    id: facts.newId("chatcmpl"),
    created: facts.created,
    model: facts.model,
    content: content === "" && toolCalls.length > 0 ? null : content,
    toolCalls,
    finishReason: parts.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage: parts.usage === null ? undefined : usageOf(parts, content, toolCalls, facts),
  };
}

/** The body of an answer in one piece. */
export function completionBody(completion: Completion): unknown {
  const { id, created, model, content, toolCalls, finishReason, usage } = completion;
  const message = {
    role: "assistant",
    content,
    refusal: null,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    ...(usage ? { usage } : {}),
  };
}

const PIECE_CHARS = 48;

/** The server-sent chunks of an answer, in order, without the closing `[DONE]`. */
export function* completionChunks(completion: Completion, includeUsage: boolean): Generator<unknown> {
  const { id, created, model, content, toolCalls, finishReason, usage } = completion;
  const chunk = (choices: readonly unknown[], rest: object = includeUsage ? { usage: null } : {}) => ({
    id,
    object: "chat.completion.chunk",
    created,
    model,
    choices,
    ...rest,
  });
  const delta = (part: object, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta: part, logprobs: null, finish_reason }]);
  yield delta({ role: "assistant", content: content === null ? null : "" });
  for (const piece of pieces(content ?? "")) yield delta({ content: piece });
  for (const [index, call] of toolCalls.entries()) {
    const { name, arguments: text } = call.function;
    yield delta({
      tool_calls: [{ index, id: call.id, type: "function", function: { name, arguments: "" } }],
    });
    for (const piece of pieces(text))
      yield delta({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield delta({}, finishReason);
  if (includeUsage && usage) yield chunk([], { usage });
}

/** Pieces that never cut a surrogate pair: an event must be valid UTF-8. */
function* pieces(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + PIECE_CHARS, text.length);
    if (end < text.length && text.slice(start, end).isWellFormed() === false) end++;
    yield text.slice(start, end);
    start = end;
  }
}

function usageOf(
  parts: ReplyParts,
  content: string,
  toolCalls: readonly WireToolCall[],
  facts: CompletionFacts,
): CompletionUsage {
  const calls = toolCalls.map((call) => `${call.function.name} ${call.function.arguments}`).join("");
  const prompt_tokens = parts.usage?.inputTokens ?? facts.promptTokens;
  const completion_tokens = parts.usage?.outputTokens ?? countTextTokens(content + calls);
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: parts.usage?.cachedTokens ?? facts.cachedTokens },
    completion_tokens_details: { reasoning_tokens: parts.usage?.reasoningTokens ?? 0 },
  };
}

function textOf(content: ReplyParts["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => ("text" in part ? String(part.text) : "")).join("");
}

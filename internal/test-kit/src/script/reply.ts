import { AIMessage, type MessageContent, type UsageMetadata } from "@langchain/core/messages";
import type { WireMessage, WireTool } from "../wire/wire-message.ts";

export interface ReplyToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** @default given by the provider, unique */
  readonly id?: string | undefined;
}

/** Tokens that a reply reports; what is left out is computed by the provider. */
export interface ReplyUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedTokens?: number;
  readonly reasoningTokens?: number;
}

/** A scripted answer in parts. */
export interface ReplyParts {
  readonly content?: MessageContent | undefined;
  readonly toolCalls?: readonly ReplyToolCall[] | undefined;
  /** `null`: the provider sends no usage at all. @default computed */
  readonly usage?: ReplyUsage | null | undefined;
  /** @default "tool_calls" with calls, "stop" without */
  readonly finishReason?: "stop" | "length" | "tool_calls" | "content_filter" | undefined;
}

/** What a script answers: a text, parts, a message as it is, or an error that the call fails with. */
export type Reply = string | ReplyParts | AIMessage | Error;

/** A request as a script sees it: what would go over the wire, and nothing else. */
export interface ScriptRequest {
  readonly messages: readonly WireMessage[];
  readonly tools: readonly WireTool[];
  readonly toolChoice?: unknown;
  /** `response_format` of the request, for structured output. */
  readonly responseFormat?: unknown;
  readonly model?: string | undefined;
}

/** The mind of a scripted model: its answer is a function of the request alone. */
export type Script = (request: ScriptRequest) => Reply | Promise<Reply>;

/** A reply as parts; a message's own id and metadata are the caller's business. */
export function replyParts(reply: Exclude<Reply, Error>): ReplyParts {
  if (typeof reply === "string") return { content: reply };
  if (!AIMessage.isInstance(reply)) return reply as ReplyParts;
  const message = reply as AIMessage;
  const usage = message.usage_metadata as UsageMetadata | undefined;
  const cachedTokens = usage?.input_token_details?.cache_read;
  return {
    content: message.content,
    toolCalls: (message.tool_calls ?? []).map(({ name, args, id }) => ({ name, args, id })),
    usage: usage && {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      ...(cachedTokens === undefined ? {} : { cachedTokens }),
    },
  };
}

/** A script's sequence is used up: the model was called more often than the test foresaw. */
export class ScriptExhaustedError extends Error {
  constructor(length: number) {
    super(`The sequence has ${length} replies and the model was called once more.`);
    this.name = "ScriptExhaustedError";
  }
}

/**
 * A script that answers with each reply in turn; functions among them see the request. It counts its calls, so it is no
 * function of the request alone: for short tests in one process.
 *
 * @param options.then what comes when the sequence is used up. Default: ScriptExhaustedError.
 */
export function sequence(
  replies: readonly (Reply | Script)[],
  options: { readonly then?: Reply | Script } = {},
): Script {
  let next = 0;
  return (request) => {
    const reply = next < replies.length ? replies[next++] : options.then;
    if (reply === undefined) return new ScriptExhaustedError(replies.length);
    return typeof reply === "function" ? reply(request) : reply;
  };
}

/** Shorthand for a reply that calls tools: `callTools(["read", { page: 1 }], ["read", { page: 2 }])`. */
export function callTools(
  ...calls: readonly (readonly [name: string, args?: Readonly<Record<string, unknown>>])[]
): ReplyParts {
  return { content: "", toolCalls: calls.map(([name, args]) => ({ name, args: args ?? {} })) };
}

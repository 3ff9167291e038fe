import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";

/** Flat cost of one picture, in tokens: the upper end of what the large providers bill for a full-size one. */
export const IMAGE_TOKENS = 1_600;
/** Flat cost of one other attachment (audio, video, document), in tokens. */
const MEDIA_TOKENS = 4_000;
/** Role and separators around a message. */
const MESSAGE_TOKENS = 4;
/** Wire syntax around one tool call, or one tool definition. */
const CALL_TOKENS = 8;

/**
 * Tokens of a text, estimated from its scripts: words by length, digits in threes, one token per Han, Kana or Hangul
 * character (the usual four characters per token is short by 2 to 4 there), several per emoji, runs of spaces cheap.
 * Written to err high: half a real tokenizer's count or less would let a request overflow. Cost: one pass.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let i = 0;
  while (i < text.length) {
    const start = i;
    const code = text.charCodeAt(i++);
    if (isLetter(code)) {
      // A run ends where lower case turns to upper: tokenizers split there, and base64 is made of such turns.
      while (i < text.length && isUpper(text.charCodeAt(i))) i++;
      const capitals = i - start;
      while (i < text.length && isLower(text.charCodeAt(i))) i++;
      tokens += 1 + Math.floor(capitals / 4) + Math.floor((i - start - 1) / 7);
    } else if (isDigit(code)) {
      while (i < text.length && isDigit(text.charCodeAt(i))) i++;
      tokens += Math.ceil((i - start) / 3);
    } else if (isSpace(code)) {
      while (i < text.length && isSpace(text.charCodeAt(i))) i++;
      // A single space belongs to the word behind it.
      if (i - start > 1 || code !== 0x20) tokens += Math.ceil((i - start) / 16);
    } else if (code < 0x80) tokens += 0.7;
    else {
      if (isHighSurrogate(code) && i < text.length) i++;
      tokens += weightOf(code);
    }
  }
  return Math.ceil(tokens);
}

/** Tokens of one character beyond ASCII; of a pair, for its high surrogate. Found by comparison with two public vocabularies. */
function weightOf(code: number): number {
  if (isHighSurrogate(code)) return 2.5;
  if (code < 0x370) return 0.5; // accented Latin
  if (code < 0x400) return 0.9; // Greek
  if (code < 0x900) return 0.6; // Cyrillic, Armenian, Hebrew, Arabic
  if (code < 0xf00) return 1; // Indic scripts, Thai, Lao
  if (code < 0x1e00) return 2; // Tibetan, Myanmar, Georgian, Ethiopic, Khmer, …
  if (code < 0x2000) return 0.9; // Vietnamese letters, polytonic Greek
  if (code < 0x2070) return 1; // general punctuation
  if (code < 0x2e80) return 2; // symbols, box drawing
  if (code < 0xa000) return 1; // Kana, Han
  if (code < 0xac00) return 2; // Yi, Vai, …
  return 1; // Hangul, compatibility and full-width forms
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
const isUpper = (code: number): boolean => code >= 65 && code <= 90;
const isLower = (code: number): boolean => code >= 97 && code <= 122;
const isLetter = (code: number): boolean => isUpper(code) || isLower(code);
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isSpace = (code: number): boolean => code === 0x20 || (code >= 9 && code <= 13);

const measured = new WeakMap<object, number>();

/** Uncalibrated tokens of a message, measured once per object (messages are not mutated). */
export function measureMessage(message: BaseMessage): number {
  return once(message, () => {
    let tokens = MESSAGE_TOKENS + measureContent(message.content);
    for (const call of (message as AIMessage).tool_calls ?? []) {
      tokens += CALL_TOKENS + estimateTokens(call.name) + estimateTokens(toJson(call.args));
    }
    return tokens;
  });
}

export function measureMessages(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + measureMessage(message), 0);
}

/** Uncalibrated tokens of tool definitions, in whatever form an app binds them. Measured once per tool object. */
export function measureTools(tools: readonly unknown[] = []): number {
  return tools.reduce((sum: number, tool) => {
    if (typeof tool !== "object" || tool === null) return sum;
    return sum + once(tool, () => CALL_TOKENS + estimateTokens(toJson(definitionOf(tool))));
  }, 0);
}

function definitionOf(tool: object): unknown {
  if (!("schema" in tool) || !("name" in tool)) return tool;
  try {
    return convertToOpenAITool(tool as Parameters<typeof convertToOpenAITool>[0]);
  } catch {
    // A schema without a JSON form (a custom validator) is still named and described on the wire.
    return { name: tool.name, description: (tool as { description?: unknown }).description };
  }
}

function measureContent(content: unknown): number {
  if (typeof content === "string") return estimateTokens(content);
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum: number, block) => sum + measureBlock(block), 0);
}

/** Base64 must never be counted as text: one picture would look like a full window. */
function measureBlock(block: unknown): number {
  if (typeof block === "string") return estimateTokens(block);
  if (typeof block !== "object" || block === null) return 0;
  const { type, text, thinking, reasoning } = block as Record<string, unknown>;
  if (type === "image" || type === "image_url" || type === "input_image") return IMAGE_TOKENS;
  if (typeof type === "string" && MEDIA.has(type)) return MEDIA_TOKENS;
  // Calls stand in `tool_calls` too and are counted there.
  if (type === "tool_use" || type === "tool_call" || type === "function_call") return 0;
  for (const part of [text, thinking, reasoning]) if (typeof part === "string") return estimateTokens(part);
  return Math.min(MEDIA_TOKENS, estimateTokens(toJson(block)));
}

const MEDIA = new Set([
  "audio",
  "input_audio",
  "video",
  "file",
  "input_file",
  "document",
  "media",
  "text-plain",
]);

/**
 * Provider tokens ÷ estimated tokens, to scale every later estimate: trigger and tail use the same measure. Absurd reports
 * are ignored, the factor is bounded, and a change below 5 % keeps the old factor, so that state and view stay the same.
 *
 * @param estimated uncalibrated tokens of the whole request
 */
export function calibrate(previous: number, estimated: number, usage: unknown): number {
  const { input_tokens: reported, input_token_details: details } = (usage ?? {}) as {
    input_tokens?: unknown;
    input_token_details?: { cache_read?: unknown; cache_creation?: unknown };
  };
  if (typeof reported !== "number" || !Number.isFinite(reported) || reported <= 0 || estimated <= 0)
    return previous;
  const cached = asCount(details?.cache_read) + asCount(details?.cache_creation);
  // Some providers report cached tokens beside the input and not in it.
  const factor = (cached > reported ? reported + cached : reported) / estimated;
  if (factor > 20 || factor < 0.05) return previous;
  const bounded = Math.round(Math.min(3, Math.max(0.5, factor)) * 100) / 100;
  return Math.abs(bounded - previous) / previous < 0.05 ? previous : bounded;
}

function asCount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function once(key: object, measure: () => number): number {
  let tokens = measured.get(key);
  if (tokens === undefined) {
    tokens = measure();
    measured.set(key, tokens);
  }
  return tokens;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

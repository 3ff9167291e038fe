import type { BaseMessage } from "@langchain/core/messages";
import { messageText } from "../messages/message-text.ts";

/** Scripts whose characters are about one token each: CJK, kana, hangul, and full-width forms. */
const DENSE = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]/g;

/** Tokens of a text, roughly and never 0 for a text: what stands in for usage that a provider did not report. */
export function estimateTokens(text: string): number {
  if (text.length === 0) return 0;
  const dense = text.match(DENSE)?.length ?? 0;
  return Math.max(1, Math.ceil(dense + (text.length - dense) / 4));
}

/** Tokens of messages, tool calls included, 4 more for the frame of each. */
export function estimateMessages(messages: readonly BaseMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += 4 + estimateMessage(message);
  return tokens;
}

export function estimateMessage(message: BaseMessage): number {
  const calls = (message as { tool_calls?: readonly { name: string; args: unknown }[] }).tool_calls ?? [];
  const asked = calls.map((call) => call.name + safeJson(call.args)).join("");
  return estimateTokens(messageText(message)) + estimateTokens(asked);
}

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

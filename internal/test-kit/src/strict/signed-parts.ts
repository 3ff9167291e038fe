import type { BaseMessage } from "@langchain/core/messages";
import { isBaseMessage, type WireMessage } from "../wire/wire-message.ts";

/** Fields by which providers sign a block or make it opaque. */
const MARKS = ["signature", "thoughtSignature", "thought_signature", "encrypted_content"];
/** Places outside of the content where clients keep signed data. */
const KWARGS = ["__gemini_function_call_thought_signatures__", "reasoning", "reasoning_details"];

/**
 * The signed or opaque parts of a message (thinking blocks with signature, redacted thinking, encrypted reasoning, thought
 * signatures), each as its exact JSON: key order counts, since a provider checks bytes.
 */
export function signedParts(message: WireMessage | BaseMessage): string[] {
  const content = Array.isArray(message.content) ? (message.content as readonly unknown[]) : [];
  const blocks = content.filter(isSigned).map((block) => JSON.stringify(block));
  if (!isBaseMessage(message)) return blocks;
  const kwargs = message.additional_kwargs as Readonly<Record<string, unknown>> | undefined;
  const kept = KWARGS.filter((name) => kwargs?.[name] !== undefined).map(
    (name) => `${name}=${JSON.stringify(kwargs?.[name])}`,
  );
  return [...blocks, ...kept];
}

function isSigned(block: unknown): boolean {
  if (typeof block !== "object" || block === null) return false;
  if ((block as { type?: unknown }).type === "redacted_thinking") return true;
  return MARKS.some((mark) => typeof (block as Record<string, unknown>)[mark] === "string");
}

import type { BaseMessage } from "@langchain/core/messages";

const MARKS = ["signature", "thoughtSignature", "thought_signature", "encrypted_content", "encrypted"];
const KWARGS = ["__gemini_function_call_thought_signatures__", "reasoning", "reasoning_details"];

/** Whether a content block is signed or opaque: a provider checks its bytes, and the order around it. */
export function isSignedBlock(block: unknown): boolean {
  if (typeof block !== "object" || block === null) return false;
  const fields = block as Readonly<Record<string, unknown>>;
  if (fields.type === "redacted_thinking") return true;
  return MARKS.some((mark) => typeof fields[mark] === "string" && fields[mark] !== "");
}

/** Whether a message carries signed or opaque parts, in its content or where clients keep them beside it. */
export function isSigned(message: BaseMessage): boolean {
  const content: unknown = message.content;
  if (Array.isArray(content) && content.some(isSignedBlock)) return true;
  const kwargs = message.additional_kwargs as Readonly<Record<string, unknown>> | undefined;
  return KWARGS.some((name) => kwargs?.[name] !== undefined && kwargs[name] !== null);
}

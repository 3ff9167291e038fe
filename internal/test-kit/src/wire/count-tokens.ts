import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import { toWire, type WireMessage, type WirePart, type WireTool } from "./wire-message.ts";

/** Tokens of an image, whatever its size. */
export const IMAGE_TOKENS = 765;

/** Counts the tokens of a request. */
export type CountTokens = (
  messages: readonly (WireMessage | BaseMessage)[],
  tools?: readonly WireTool[],
) => number;

/**
 * Weight of a text in quarter tokens: a CJK character, kana, hangul or emoji half weighs 4 (one token), any other UTF-16
 * unit 1. Additive, so that the weights of pieces sum up to the weight of the whole.
 */
export function quarterTokens(text: string): number {
  let quarters = text.length;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x2e80) quarters += 3;
  return quarters;
}

/**
 * The test kit's token measure: about 4 characters a token, 1 character a token in CJK; deterministic, no vocabulary.
 * It is not any real provider's, which is the point: a product must calibrate itself by the usage that it is told.
 */
export function countTextTokens(text: string): number {
  return Math.ceil(quarterTokens(text) / 4);
}

/** Tokens of a request: of `serialiseRequest`. Cost: linear in the size of the request. */
export const countRequestTokens: CountTokens = (messages, tools) =>
  countTextTokens(serialiseRequest(messages, tools));

/**
 * The text of a request as a model would read it: tools first, then each message behind a role mark, with its name, call
 * id and calls. Two requests share a cached prefix exactly as far as these texts agree.
 */
export function serialiseRequest(
  messages: readonly (WireMessage | BaseMessage)[],
  tools: readonly WireTool[] = [],
): string {
  return tools.map((tool) => `<|tool|>${JSON.stringify(tool)}`).join("") + messages.map(serialise).join("");
}

function serialise(given: WireMessage | BaseMessage): string {
  const message = toWire(given);
  const calls = (message.tool_calls ?? []).map(
    (call) => `<|call|>${call.id} ${call.function.name} ${call.function.arguments}`,
  );
  const head = [message.role, message.name, message.tool_call_id].filter((part) => part !== undefined);
  return `<|${head.join(" ")}|>${contentText(message.content)}${calls.join("")}`;
}

function contentText(content: WireMessage["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(partText).join("");
}

function partText(part: WirePart | string): string {
  if (typeof part === "string") return part;
  if (typeof part.text === "string") return part.text;
  const json = JSON.stringify(part);
  if (part.type !== "image_url" && part.type !== "image" && part.type !== "input_image") return json;
  // A fixed length stands for the flat price; the digest tells images apart for the prefix cache.
  return `[image ${createHash("sha1").update(json).digest("hex")}]`.padEnd(IMAGE_TOKENS * 4, ".");
}

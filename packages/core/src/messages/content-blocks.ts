import type { MessageContent } from "@langchain/core/messages";
import { isSignedBlock } from "./signed-blocks.ts";
import { wellFormed } from "./well-formed.ts";

type Block = Exclude<MessageContent, string>[number];

/** Content as blocks; no block for an empty string. */
export function contentBlocks(content: MessageContent): readonly Block[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

/** Whether content says nothing: no block, or white space only. Providers refuse such a message. */
export function isBlank(content: MessageContent): boolean {
  return typeof content === "string" ? content.trim() === "" : content.every(isBlankBlock);
}

/** Content that a provider accepts: well-formed, without empty text blocks. Signed blocks are passed on as they are. */
export function cleanContent(content: MessageContent): MessageContent {
  if (typeof content === "string" || !Array.isArray(content)) return wellFormed(content ?? "");
  const kept = content.filter((block) => !isBlankBlock(block));
  const clean = kept.map((block) => (isSignedBlock(block) ? block : wellFormed(block)));
  const same = clean.length === content.length && clean.every((block, i) => block === content[i]);
  return same ? content : clean;
}

function isBlankBlock(block: unknown): boolean {
  if (typeof block === "string") return block.trim() === "";
  if (typeof block !== "object" || block === null) return true;
  const { type, text } = block as { type?: unknown; text?: unknown };
  if (type !== undefined && type !== "text" && type !== "output_text") return false;
  return typeof text !== "string" || (text.trim() === "" && !isSignedBlock(block));
}

import type { BaseMessage } from "@langchain/core/messages";

/**
 * The text of a message as people see it: text blocks joined, an image or file as a short placeholder, signed and opaque
 * blocks left out. Never base64.
 */
export function messageText(message: BaseMessage): string {
  const content = message.content as unknown;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map(blockText).filter(Boolean).join("\n");
}

function blockText(block: unknown): string {
  if (typeof block === "string") return block;
  if (typeof block !== "object" || block === null) return "";
  const { type, text } = block as { type?: unknown; text?: unknown };
  if (typeof text === "string" && (type === undefined || type === "text" || type === "output_text"))
    return text;
  if (type === "image" || type === "image_url" || type === "input_image") return "[image]";
  if (type === "file" || type === "audio" || type === "video" || type === "document")
    return `[${String(type)}]`;
  return "";
}

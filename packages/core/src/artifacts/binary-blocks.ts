import type { BaseMessage } from "@langchain/core/messages";

/** A picture or file inside a message. */
export interface BinaryBlock {
  readonly kind: "image" | "file";
  readonly mediaType: string;
  /** As data URL; undefined when the block only points to it. */
  readonly dataUrl?: string | undefined;
  /** Address of a block that is kept elsewhere. */
  readonly url?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** The pictures and files of a message, in every block form that the providers use. */
export function binaryBlocks(message: BaseMessage): readonly BinaryBlock[] {
  const content = message.content as unknown;
  if (!Array.isArray(content)) return [];
  return content.flatMap((block) => {
    const found = isFields(block) ? readBlock(block) : undefined;
    return found ? [found] : [];
  });
}

function readBlock(block: Fields): BinaryBlock | undefined {
  const kind = /image/.test(String(block.type))
    ? "image"
    : /^(?:file|input_file|document|media|(?:input_)?(?:audio|video)(?:_url)?)$/.test(String(block.type))
      ? "file"
      : undefined;
  if (!kind) return undefined;
  const type = String(block.type);
  const inner = [block.source, block.file, block[type]].find(isFields) ?? block;
  const mediaType =
    text(inner.media_type) ??
    text(inner.mime_type) ??
    text(inner.mimeType) ??
    text(block.mime_type) ??
    (text(inner.format) && `audio/${text(inner.format)}`) ??
    (kind === "image" ? "image/png" : "application/octet-stream");
  const data = text(inner.data) ?? text(inner.file_data);
  const address =
    text(block.image_url) ??
    (isFields(block.image_url) ? text(block.image_url.url) : undefined) ??
    text(block[type]) ??
    text(inner.url) ??
    text(inner.fileUri);
  const given = data ?? address;
  if (given?.startsWith("data:"))
    return { kind, mediaType: /^data:([^;,]+)/.exec(given)?.[1] ?? mediaType, dataUrl: given };
  if (data !== undefined) return { kind, mediaType, dataUrl: `data:${mediaType};base64,${data}` };
  return address === undefined ? undefined : { kind, mediaType, url: address };
}

/** Long base64 inside running text is not text: a note of its size stands in its place. Cost: linear. */
export function withoutBase64(text: string): string {
  if (text.length < 256) return text;
  return text.replace(/(?:data:[\w/+.-]{3,60};base64,)?[A-Za-z0-9+/_-]{256,}={0,2}/g, (run) =>
    /^data:/.test(run) || (/[A-Z]/.test(run) && /[a-z]/.test(run) && /\d/.test(run))
      ? `[binary data, ${run.length} characters]`
      : run,
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

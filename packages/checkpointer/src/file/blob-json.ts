/** Bytes in a JSON line: base64, or where a text stands in them after a few other bytes, those in base64 and the text as it is. */
export type BlobJson = string | readonly [head: string, text: string];

/** The envelope of a stored text is shorter. */
const HEAD_UP_TO = 16;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function toJson(data: Uint8Array): BlobJson {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  for (let start = 0; start <= Math.min(HEAD_UP_TO, bytes.length - 1); start++) {
    const text = readable(bytes.subarray(start));
    if (text !== undefined) return [bytes.toString("base64", 0, start), text];
  }
  return bytes.toString("base64");
}

export function fromJson(json: unknown): Uint8Array {
  if (typeof json === "string") return Buffer.from(json, "base64");
  if (Array.isArray(json) && typeof json[0] === "string" && typeof json[1] === "string")
    return Buffer.concat([Buffer.from(json[0], "base64"), Buffer.from(json[1], "utf8")]);
  throw new TypeError("not bytes");
}

/** Control characters are a sign that it is no text. */
function readable(bytes: Uint8Array): string | undefined {
  if ((bytes[0] ?? 0) < 0x20) return undefined;
  try {
    const text = DECODER.decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what is looked for
    return /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

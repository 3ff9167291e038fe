import { deflateRawSync, inflateRawSync } from "node:zlib";
import { DamagedRecordError } from "../errors.ts";
import { DICTIONARY_1 } from "./dictionary.ts";

/** How a text is packed. Part of the stored format: never reused or changed; a new dictionary is a new codec. */
const CODEC = { plain: 0, deflate: 1, deflateDictionary1: 2 } as const;
export const CODECS: ReadonlySet<number> = new Set(Object.values(CODEC));
/** Below this, packing saves a few bytes and costs more time than storing the row. */
const COMPRESS_FROM = 160;
/** Above this the dictionary is no help. */
const DICTIONARY_UP_TO = 16_384;
// setting up the usual window costs more time than packing a short text; reading needs to know nothing of it
const TINY_UP_TO = 2_048;
const TINY = { level: 6, windowBits: 13, memLevel: 5, dictionary: DICTIONARY_1 } as const;
const SMALL = { level: 6, windowBits: 15, memLevel: 8, dictionary: DICTIONARY_1 } as const;

export type Compression = "deflate" | "none";

export function pack(
  text: string,
  compression: Compression,
): { codec: number; payload: Buffer; size: number } {
  const raw = Buffer.from(text, "utf8");
  if (compression === "deflate" && raw.length >= COMPRESS_FROM) {
    const isSmall = raw.length <= DICTIONARY_UP_TO;
    const payload = deflateRawSync(raw, isSmall ? (raw.length <= TINY_UP_TO ? TINY : SMALL) : {});
    if (payload.length < raw.length)
      return { codec: isSmall ? CODEC.deflateDictionary1 : CODEC.deflate, payload, size: raw.length };
  }
  return { codec: CODEC.plain, payload: raw, size: raw.length };
}

/** @throws DamagedRecordError; never allocates more than `size`. */
export function unpack(payload: Buffer, codec: number, size: number): Buffer {
  if (codec === CODEC.plain) return payload;
  const limit = { maxOutputLength: Math.max(1, size) };
  try {
    return inflateRawSync(
      payload,
      codec === CODEC.deflateDictionary1 ? { ...limit, dictionary: DICTIONARY_1 } : limit,
    );
  } catch (cause) {
    throw new DamagedRecordError({ reason: "it cannot be unpacked", cause });
  }
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

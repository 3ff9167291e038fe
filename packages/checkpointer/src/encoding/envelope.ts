import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { DamagedRecordError } from "../errors.ts";
import { DICTIONARY_1 } from "./dictionary.ts";

/**
 * What surrounds every stored text: magic, format version, codec, checksum, size, payload.
 *
 * ```
 * 0      1        2      3..6             7..          then
 * 0x4c   format   codec  CRC-32 (BE) of   raw size in  payload
 *                        all other bytes  bytes (varint)
 * ```
 *
 * Codecs are never reused or changed; a new dictionary is a new codec. Encryption will be further codecs around these.
 */
const MAGIC = 0x4c;
const FORMAT = 1;
const CODEC = { plain: 0, deflate: 1, deflateDictionary1: 2 } as const;
/** Below this, packing saves a few bytes and costs more time than storing the row. */
const COMPRESS_FROM = 160;
/** Above this the dictionary is no help. */
const DICTIONARY_UP_TO = 16_384;
/** No text may claim more. Stored texts are far smaller: long strings are cut in segments. */
const MAX_RAW = 256 * 1024 * 1024;

export type Compression = "deflate" | "none";

/** Wraps a text. */
export function seal(text: string, compression: Compression): Uint8Array {
  const raw = Buffer.from(text, "utf8");
  let codec: number = CODEC.plain;
  let payload = raw;
  if (compression === "deflate" && raw.length >= COMPRESS_FROM) {
    const small = raw.length <= DICTIONARY_UP_TO;
    const packed = deflateRawSync(raw, small ? (raw.length <= TINY_UP_TO ? TINY : SMALL) : {});
    if (packed.length < raw.length) {
      codec = small ? CODEC.deflateDictionary1 : CODEC.deflate;
      payload = packed;
    }
  }
  const head = [MAGIC, FORMAT, codec, 0, 0, 0, 0];
  for (let size = raw.length; ; size = Math.floor(size / 128)) {
    if (size < 128) {
      head.push(size);
      break;
    }
    head.push((size % 128) | 128);
  }
  const bytes = Buffer.concat([Buffer.from(head), payload]);
  bytes.writeUInt32BE(checksum(bytes), 3);
  return bytes;
}

// setting up the usual window costs more time than packing a short text; reading needs to know nothing of it
const TINY_UP_TO = 2_048;
const TINY = { level: 6, windowBits: 13, memLevel: 5, dictionary: DICTIONARY_1 } as const;
const SMALL = { level: 6, windowBits: 15, memLevel: 8, dictionary: DICTIONARY_1 } as const;

/** @throws DamagedRecordError with the reason, for the caller to add the place. */
export function unseal(stored: Uint8Array): string {
  const { codec, size, start } = headerOf(stored);
  const bytes = asBuffer(stored);
  if (bytes.readUInt32BE(3) !== checksum(bytes)) throw damaged("its checksum does not match");
  if (size > MAX_RAW) throw damaged(`it claims ${size} bytes, more than any record has`);
  const payload = bytes.subarray(start);
  const raw = codec === CODEC.plain ? payload : inflate(payload, codec, size);
  if (raw.length !== size) throw damaged(`it has ${raw.length} bytes instead of ${size}`);
  return raw.toString("utf8");
}

/** Size of the text inside, without unpacking it. */
export function rawSizeOf(stored: Uint8Array): number {
  return headerOf(stored).size;
}

function headerOf(stored: Uint8Array): { codec: number; size: number; start: number } {
  // a damaged row's column may have any type
  if (!(stored instanceof Uint8Array)) throw damaged("it is not binary");
  if (stored.length < 8) throw damaged("it is too short to be a record");
  if (stored[0] !== MAGIC) throw damaged("it does not begin as a record");
  if (stored[1] !== FORMAT)
    throw damaged(`format version ${stored[1]} is unknown; a newer version may have written it`);
  const codec = stored[2] as number;
  if (codec > CODEC.deflateDictionary1)
    throw damaged(`codec ${codec} is unknown; a newer version may have written it`);
  let size = 0;
  let start = 7;
  for (let factor = 1; ; factor *= 128) {
    const byte = stored[start++];
    if (byte === undefined || factor > 128 ** 6) throw damaged("its size cannot be read");
    size += (byte & 127) * factor;
    if (byte < 128) break;
  }
  return { codec, size, start };
}

function inflate(payload: Buffer, codec: number, size: number): Buffer {
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

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(7), crc32(bytes.subarray(0, 3)));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function damaged(reason: string): DamagedRecordError {
  return new DamagedRecordError({ reason });
}

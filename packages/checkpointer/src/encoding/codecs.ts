import { constants, deflateRawSync, inflateRawSync, type ZlibOptions } from "node:zlib";
import { DamagedRecordError } from "../errors.ts";
import { DICTIONARY_1 } from "./dictionary.ts";

/**
 * How a text is packed. Part of the stored format: never reused or changed; a new dictionary is a new codec. `openDictionary1` is a deflate
 * stream without a last block, cut at a byte as in RFC 7692: many of them are one stream.
 */
const CODEC = { plain: 0, deflate: 1, deflateDictionary1: 2, openDictionary1: 3 } as const;
export const CODECS: ReadonlySet<number> = new Set(Object.values(CODEC));
/** Below this, packing saves a few bytes and costs more time than storing the row. */
const COMPRESS_FROM = 160;
/** Above this the dictionary is no help. */
const DICTIONARY_UP_TO = 16_384;
// setting up the usual window costs more time than packing a short text; reading needs to know nothing of it
const TINY_UP_TO = 2_048;
const OPEN = { level: 6, dictionary: DICTIONARY_1, finishFlush: constants.Z_SYNC_FLUSH } as const;
const TINY = { ...OPEN, windowBits: 13, memLevel: 5 } as const;
const SMALL = { ...OPEN, windowBits: 15, memLevel: 8 } as const;
const JOINED = { finishFlush: constants.Z_SYNC_FLUSH } as const;
/** What ends an open stream, and is not stored. */
const CUT = Buffer.from([0x00, 0x00, 0xff, 0xff]);
/** The dictionary as a block of a stream: what stands before an open stream when it is one of many. */
const DICTIONARY_BLOCK = storedBlock(DICTIONARY_1);
/** Bytes unpacked in one call. */
const JOINED_MAX = 8 * 1024 * 1024;

export type Compression = "deflate" | "none";

/** A packed text: what the envelope says of it, and its bytes. */
export interface Packed {
  readonly codec: number;
  readonly payload: Buffer;
  /** Bytes of the text. */
  readonly size: number;
}

export function pack(text: string, compression: Compression): Packed {
  const raw = Buffer.from(text, "utf8");
  if (compression === "deflate" && raw.length >= COMPRESS_FROM) {
    const packed =
      raw.length > DICTIONARY_UP_TO
        ? { codec: CODEC.deflate, payload: deflateRawSync(raw), size: raw.length }
        : {
            codec: CODEC.openDictionary1,
            payload: deflateRawSync(raw, raw.length <= TINY_UP_TO ? TINY : SMALL).subarray(0, -CUT.length),
            size: raw.length,
          };
    if (packed.payload.length < raw.length) return packed;
  }
  return { codec: CODEC.plain, payload: raw, size: raw.length };
}

/** @throws DamagedRecordError; never allocates more than `size`. */
export function unpack({ payload, codec, size }: Packed): string {
  const raw = codec === CODEC.plain ? payload : inflate(payload, codec, size);
  if (raw.length !== size)
    throw new DamagedRecordError({ reason: `it has ${raw.length} bytes instead of ${size}` });
  return raw.toString("utf8");
}

/**
 * As `unpack` for each, but open streams are unpacked as one: setting up zlib costs several times what a short text does.
 *
 * @throws DamagedRecordError without saying which of them it is
 */
export function unpackAll(all: readonly Packed[]): string[] {
  const texts = new Array<string>(all.length);
  let group: number[] = [];
  let bytes = 0;
  const flush = () => {
    if (group.length > 0) unpackJoined(all, group, bytes, texts);
    group = [];
    bytes = 0;
  };
  for (const [i, packed] of all.entries()) {
    if (packed.codec !== CODEC.openDictionary1 || packed.size > DICTIONARY_UP_TO) {
      texts[i] = unpack(packed);
      continue;
    }
    group.push(i);
    bytes += DICTIONARY_1.length + packed.size;
    if (bytes > JOINED_MAX) flush();
  }
  flush();
  return texts;
}

function unpackJoined(all: readonly Packed[], group: readonly number[], bytes: number, texts: string[]): void {
  const raw = inflateRaw(joined(group.map((i) => (all[i] as Packed).payload)), bytes, JOINED);
  if (raw.length !== bytes)
    throw new DamagedRecordError({ reason: `they have ${raw.length} bytes instead of ${bytes}` });
  let at = 0;
  for (const i of group) {
    at += DICTIONARY_1.length;
    const end = at + (all[i] as Packed).size;
    texts[i] = raw.toString("utf8", at, end);
    at = end;
  }
}

/** Open streams as one, each after the dictionary. */
function joined(payloads: readonly Buffer[]): Buffer {
  const around = DICTIONARY_BLOCK.length + CUT.length;
  const stream = Buffer.allocUnsafe(payloads.reduce((sum, { length }) => sum + length + around, 0));
  let at = 0;
  for (const payload of payloads) {
    stream.set(DICTIONARY_BLOCK, at);
    at += DICTIONARY_BLOCK.length;
    stream.set(payload, at);
    at += payload.length;
    stream.set(CUT, at);
    at += CUT.length;
  }
  return stream;
}

function inflate(payload: Buffer, codec: number, size: number): Buffer {
  switch (codec) {
    case CODEC.openDictionary1:
      return inflateRaw(Buffer.concat([payload, CUT]), size, OPEN);
    case CODEC.deflateDictionary1:
      return inflateRaw(payload, size, { dictionary: DICTIONARY_1 });
    default:
      return inflateRaw(payload, size);
  }
}

function inflateRaw(stream: Buffer, size: number, options: ZlibOptions = {}): Buffer {
  // one piece of output where it is not too much
  const chunkSize = Math.min(Math.max(size, 64), JOINED_MAX);
  try {
    return inflateRawSync(stream, { ...options, maxOutputLength: Math.max(1, size), chunkSize });
  } catch (cause) {
    throw new DamagedRecordError({ reason: "it cannot be unpacked", cause });
  }
}

function storedBlock(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(bytes.length ^ 0xffff, 3);
  return Buffer.concat([head, bytes]);
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

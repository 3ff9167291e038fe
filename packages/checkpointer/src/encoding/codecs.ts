import { isAscii } from "node:buffer";
import { constants, deflateRawSync, inflateRawSync, type ZlibOptions } from "node:zlib";
import { DamagedRecordError } from "../errors.ts";
import { DICTIONARY_1 } from "./dictionary.ts";

/**
 * How a text is packed. Part of the stored format: never reused or changed; a new dictionary is a new codec. The open ones are deflate streams
 * without a last block, cut at a byte as in RFC 7692: many of them are one stream. The others are read only.
 */
const CODEC = { plain: 0, deflate: 1, deflateDictionary1: 2, openDictionary1: 3, open: 4 } as const;
export const CODECS: ReadonlySet<number> = new Set(Object.values(CODEC));
/** Below this, packing saves a few bytes and costs more time than storing the row. */
const COMPRESS_FROM = 160;
/** Above this the dictionary is little help. */
const DICTIONARY_UP_TO = 2_048;
const OPEN = { level: 6, finishFlush: constants.Z_SYNC_FLUSH } as const;
// setting up the usual window costs more time than packing a short text; reading needs to know nothing of it
const OPEN_DICTIONARY_1 = { ...OPEN, dictionary: DICTIONARY_1, windowBits: 13, memLevel: 5 } as const;
const JOINED = { finishFlush: constants.Z_SYNC_FLUSH } as const;
/** What ends an open stream, and is not stored. */
const CUT = Buffer.from([0x00, 0x00, 0xff, 0xff]);
/** What stands before an open stream when it is one of many: its dictionary, or as little as makes of all texts one JSON text. */
const DICTIONARY_BLOCK = storedBlock(DICTIONARY_1);
const BETWEEN = Buffer.from("],[");
const BETWEEN_BLOCK = storedBlock(BETWEEN);
const BEGIN = Buffer.from("[[");
const END = Buffer.from("]]");
const END_BLOCK = storedBlock(END);
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
  const size = raw.length;
  if (compression === "deflate" && size >= COMPRESS_FROM) {
    const isShort = size <= DICTIONARY_UP_TO;
    const payload = deflateRawSync(raw, isShort ? OPEN_DICTIONARY_1 : OPEN).subarray(0, -CUT.length);
    if (payload.length < size) return { codec: isShort ? CODEC.openDictionary1 : CODEC.open, payload, size };
  }
  return { codec: CODEC.plain, payload: raw, size };
}

/** @throws DamagedRecordError; never allocates more than `size`. */
export function unpack(packed: Packed): string {
  const raw = packed.codec === CODEC.plain ? packed.payload : inflateOne(packed);
  if (raw.length !== packed.size)
    throw new DamagedRecordError({ reason: `it has ${raw.length} bytes instead of ${packed.size}` });
  return raw.toString("utf8");
}

/** Several texts as one. */
export interface Unpacked {
  /** Which ones, in their order. */
  readonly indexes: readonly number[];
  /** A JSON array of arrays, one for each text: a text is an array without its brackets. */
  readonly json: string;
}

/**
 * As `unpack` for each, in few texts. Open streams are unpacked as one, since setting up zlib costs several times what a short text does,
 * and then parsed as one.
 *
 * @throws DamagedRecordError without saying which of them it is
 */
export function unpackAll(all: readonly Packed[]): Unpacked[] {
  const texts: Unpacked[] = [];
  let group: number[] = [];
  let bytes = 0;
  const flush = () => {
    if (group.length > 0)
      texts.push({ indexes: group, json: unpackJoined(group.map((i) => all[i] as Packed)) });
    group = [];
    bytes = 0;
  };
  for (const [i, packed] of all.entries()) {
    if (!isOpen(packed) || packed.size > JOINED_MAX) {
      texts.push({ indexes: [i], json: `[[${unpack(packed)}]]` });
      continue;
    }
    group.push(i);
    bytes += packed.size;
    if (bytes > JOINED_MAX) flush();
  }
  flush();
  return texts;
}

function isOpen({ codec }: Packed): boolean {
  return codec === CODEC.open || codec === CODEC.openDictionary1;
}

function unpackJoined(all: readonly Packed[]): string {
  const before = all.map(({ codec }) => (codec === CODEC.open ? BETWEEN : DICTIONARY_1).length);
  const bytes = all.reduce((sum, { size }, n) => sum + size + (before[n] as number), END.length);
  const raw = inflate(joined(all), bytes, JOINED);
  if (raw.length !== bytes)
    throw new DamagedRecordError({ reason: `they have ${raw.length} bytes instead of ${bytes}` });
  let end = 0;
  for (const [n, { size }] of all.entries()) {
    const start = end + (before[n] as number);
    const mark = n === 0 ? BEGIN : BETWEEN;
    // JSON takes spaces anywhere
    raw.fill(0x20, end, start);
    raw.set(mark, start - mark.length);
    end = start + size;
  }
  // many times faster to decode, and most states are
  return raw.toString(isAscii(raw) ? "latin1" : "utf8");
}

/** Open streams as one. */
function joined(all: readonly Packed[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const { codec, payload } of all)
    parts.push(codec === CODEC.open ? BETWEEN_BLOCK : DICTIONARY_BLOCK, payload, CUT);
  return Buffer.concat([...parts, END_BLOCK]);
}

function inflateOne({ payload, codec, size }: Packed): Buffer {
  switch (codec) {
    case CODEC.open:
      return inflate(Buffer.concat([payload, CUT]), size, JOINED);
    case CODEC.openDictionary1:
      return inflate(Buffer.concat([payload, CUT]), size, { ...JOINED, dictionary: DICTIONARY_1 });
    case CODEC.deflateDictionary1:
      return inflate(payload, size, { dictionary: DICTIONARY_1 });
    default:
      return inflate(payload, size);
  }
}

/** Never makes more than `size` bytes; in one piece where that is not too much. */
function inflate(stream: Buffer, size: number, options: ZlibOptions = {}): Buffer {
  const chunkSize = Math.min(Math.max(size, 64), 2 * JOINED_MAX);
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

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { DamagedRecordError, EncryptionError } from "../errors.ts";
import {
  asBuffer,
  CODECS,
  type Compression,
  type Packed,
  pack,
  type Unpacked,
  unpack,
  unpackAll,
} from "./codecs.ts";
import type { Place } from "./place.ts";

/**
 * What surrounds every stored text. Part of the stored format: codecs and flags are never reused or changed, only added.
 *
 * ```
 * 0      1        2      3..6           7..                         then
 * 0x4c   format   codec  CRC-32 (BE)    raw size in bytes (varint)  payload
 *
 * encrypted (codec with bit 7 set), after the size:
 *                        key id: length (1 byte), UTF-8   nonce (12 bytes)   ciphertext   tag (16 bytes)
 * ```
 *
 * The checksum is of all other bytes and the text's place, so a row that was moved is noticed. The place, the header and the key id are
 * AES-256-GCM's additional data.
 */
const MAGIC = 0x4c;
const FORMAT = 1;
const ENCRYPTED = 0x80;
const NONCE = 12;
const TAG = 16;
const KEY_BYTES = 32;
/** No text may claim more. Stored texts are far smaller: long strings are cut in segments. */
const MAX_RAW = 256 * 1024 * 1024;

export interface SealerOptions {
  readonly compression: Compression;
  readonly encryption?:
    | {
        /** Under which the key of new rows is known. */
        readonly keyId: string;
        /** @returns 32 bytes, or undefined where there is no such key */
        readonly keyOf: (keyId: string) => Uint8Array | undefined;
        /** Whether rows that are not encrypted may be read. */
        readonly acceptPlaintext: boolean;
      }
    | undefined;
}

/** Texts to stored bytes and back. */
export class Sealer {
  readonly #options: SealerOptions;

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  seal(text: string, place: Place): Uint8Array {
    const { codec, payload, size } = pack(text, this.#options.compression);
    const { encryption } = this.#options;
    if (!encryption) return withChecksum([header(codec, size), payload], place);
    const { keyId } = encryption;
    const id = Buffer.from(keyId, "utf8");
    const head = Buffer.concat([header(codec | ENCRYPTED, size), Buffer.from([id.length]), id]);
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv("aes-256-gcm", this.#key(keyId), nonce, { authTagLength: TAG });
    cipher.setAAD(additional(head, place));
    const secret = Buffer.concat([cipher.update(payload), cipher.final()]);
    return withChecksum([head, nonce, secret, cipher.getAuthTag()], place);
  }

  /**
   * @throws DamagedRecordError with the reason, for the caller to add the place.
   * @throws EncryptionError when the key is missing or another one, or a row is not encrypted that should be.
   */
  unseal(stored: Uint8Array, place: Place): string {
    return unpack(this.#open(stored, place));
  }

  /** As `unseal` for each, in few texts and faster for many. @throws as `unseal`, without saying for which. */
  unsealAll(stored: readonly (readonly [stored: Uint8Array, place: Place])[]): Unpacked[] {
    return unpackAll(stored.map(([bytes, place]) => this.#open(bytes, place)));
  }

  #open(stored: Uint8Array, place: Place): Packed {
    const { codec, size, start, isEncrypted } = headerOf(stored);
    const bytes = asBuffer(stored);
    if (bytes.readUInt32BE(3) !== checksum(bytes, place)) throw damaged("its checksum does not match");
    if (size > MAX_RAW) throw damaged(`it claims ${size} bytes, more than any record has`);
    const { encryption } = this.#options;
    if (!isEncrypted && encryption && !encryption.acceptPlaintext)
      throw new EncryptionError({ reason: "plaintext" });
    const payload = isEncrypted ? this.#decrypt(bytes, start, place) : bytes.subarray(start);
    return { codec, payload, size };
  }

  #decrypt(bytes: Buffer, start: number, place: Place): Buffer {
    const nonceAt = start + 1 + (bytes[start] ?? 0);
    const secretAt = nonceAt + NONCE;
    const tagAt = bytes.length - TAG;
    if (tagAt < secretAt) throw damaged("it is too short to be an encrypted record");
    const keyId = bytes.toString("utf8", start + 1, nonceAt);
    const key = this.#key(keyId);
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(nonceAt, secretAt), {
      authTagLength: TAG,
    });
    decipher.setAAD(additional(bytes.subarray(0, nonceAt), place));
    decipher.setAuthTag(bytes.subarray(tagAt));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(secretAt, tagAt)), decipher.final()]);
    } catch (cause) {
      // its checksum is right, so the bytes are those that were written: the key is not
      throw new EncryptionError({ reason: "wrong-key", keyId, cause });
    }
  }

  #key(keyId: string): Uint8Array {
    const { encryption } = this.#options;
    if (!encryption) throw new EncryptionError({ reason: "no-key", keyId });
    const key = encryption.keyOf(keyId);
    if (key === undefined) throw new EncryptionError({ reason: "unknown-key", keyId });
    if (!(key instanceof Uint8Array) || key.length !== KEY_BYTES)
      throw new EncryptionError({ reason: "bad-key", keyId });
    return key;
  }
}

/** Size of the text inside in bytes, without unpacking it. */
export function rawSizeOf(stored: Uint8Array): number {
  return headerOf(stored).size;
}

function header(codec: number, size: number): Buffer {
  const bytes = [MAGIC, FORMAT, codec, 0, 0, 0, 0];
  for (let rest = size; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) {
      bytes.push(rest);
      return Buffer.from(bytes);
    }
    bytes.push((rest % 128) | 128);
  }
}

function headerOf(stored: Uint8Array): { codec: number; size: number; start: number; isEncrypted: boolean } {
  // a damaged row's column may have any type
  if (!(stored instanceof Uint8Array)) throw damaged("it is not binary");
  if (stored.length < 8) throw damaged("it is too short to be a record");
  if (stored[0] !== MAGIC) throw damaged("it does not begin as a record");
  if (stored[1] !== FORMAT)
    throw damaged(`format version ${stored[1]} is unknown; a newer version may have written it`);
  const codec = (stored[2] as number) & ~ENCRYPTED;
  if (!CODECS.has(codec)) throw damaged(`codec ${codec} is unknown; a newer version may have written it`);
  let size = 0;
  let start = 7;
  for (let factor = 1; ; factor *= 128) {
    const byte = stored[start++];
    if (byte === undefined || factor > 128 ** 6) throw damaged("its size cannot be read");
    size += (byte & 127) * factor;
    if (byte < 128) break;
  }
  return { codec, size, start, isEncrypted: ((stored[2] as number) & ENCRYPTED) !== 0 };
}

/** The checksum's own place in the header is zero where the additional data is made. */
function additional(head: Buffer, place: Place): Buffer {
  return Buffer.concat([head.subarray(0, 3), head.subarray(7), Buffer.from(place, "utf8")]);
}

function withChecksum(parts: readonly Uint8Array[], place: Place): Buffer {
  const bytes = Buffer.concat(parts);
  bytes.writeUInt32BE(checksum(bytes, place), 3);
  return bytes;
}

function checksum(bytes: Buffer, place: Place): number {
  return crc32(place, crc32(bytes.subarray(7), beginning(bytes)));
}

/** Checksums of the first three bytes by their last, the codec: the others are always the same. */
const beginnings: number[] = [];

function beginning(bytes: Buffer): number {
  const codec = bytes[2] as number;
  beginnings[codec] ??= crc32(bytes.subarray(0, 3));
  return beginnings[codec];
}

function damaged(reason: string): DamagedRecordError {
  return new DamagedRecordError({ reason });
}

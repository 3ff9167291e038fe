import { JsonPlusSerializer, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { checkOptionKeys, type OptionKeys } from "@longhaul/core";
import { type AnyClass, ClassTable } from "./encoding/classes.ts";
import { Encoder } from "./encoding/encoder.ts";
import { materialise } from "./encoding/materialise.ts";
import { formOf } from "./encoding/node.ts";
import { ONE_PIECE, Packer } from "./encoding/packer.ts";
import { parseTokens } from "./encoding/references.ts";
import { Sealer, type SealerOptions } from "./encoding/sealer.ts";
import { EncryptionError } from "./errors.ts";
import { type CompactSaverOptions, resolveSaverOptions } from "./saver-options.ts";

/** The options of `CompactSaver` that concern a single value. */
export type CompactSerdeOptions = Pick<
  CompactSaverOptions,
  "compression" | "encryptionKey" | "encryptionKeyId" | "acceptPlaintext" | "reviveClasses"
>;

const KEYS: OptionKeys<CompactSerdeOptions> = {
  compression: true,
  encryptionKey: true,
  encryptionKeyId: true,
  acceptPlaintext: true,
  reviveClasses: true,
};

const TYPE = "longhaul";
/** A serializer is not told where its bytes will stand. */
const NOWHERE = "";

/**
 * `CompactSaver`'s encoding for one of LangGraph's own savers: `new SqliteSaver(db, compactSerde())`. Values come back exactly or are refused,
 * are packed, checked when read and, with `encryptionKey`, encrypted.
 *
 * - Each value is stored whole, so the saver's cost per step still grows with the state; only `CompactSaver` avoids that.
 * - Checksum and encryption are not bound to a place: a row that was moved to another one is not noticed.
 * - The bytes are Base64 text, because SqliteSaver reads pending writes as text. That costs a third of the packed size.
 * - Metadata is no JSON any more: `list` of SqliteSaver cannot `filter`.
 * - Rows that the saver wrote before (types "json" and "bytes") are read as before. With a key they are refused unless `acceptPlaintext` is set.
 *
 * @throws InvalidOptionsError at once. The serializer throws UnstorableValueError, DamagedRecordError and EncryptionError.
 */
export function compactSerde(options: CompactSerdeOptions = {}): SerializerProtocol {
  checkOptionKeys("options", options, KEYS);
  const { sealer, reviveClasses } = resolveSaverOptions(options);
  return new CompactSerde(sealer, reviveClasses);
}

class CompactSerde implements SerializerProtocol {
  readonly #sealer: Sealer;
  readonly #classes: ClassTable;
  readonly #encoder: Encoder;
  readonly #refusesPlaintext: boolean;
  readonly #plain = new JsonPlusSerializer();

  constructor(options: SealerOptions, reviveClasses: Readonly<Record<string, AnyClass>>) {
    this.#sealer = new Sealer(options);
    this.#classes = new ClassTable(reviveClasses);
    this.#encoder = new Encoder(this.#classes, new Packer(ONE_PIECE));
    this.#refusesPlaintext = options.encryption !== undefined && !options.encryption.acceptPlaintext;
  }

  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    const text = formOf(this.#encoder.encode(value, "value")).inline;
    const sealed = this.#sealer.seal(text, NOWHERE);
    const { buffer, byteOffset, byteLength } = sealed;
    return [TYPE, Buffer.from(Buffer.from(buffer, byteOffset, byteLength).toString("base64"), "latin1")];
  }

  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== TYPE) {
      if (this.#refusesPlaintext) throw new EncryptionError({ reason: "plaintext" });
      return this.#plain.loadsTyped(type, data);
    }
    const base64 = typeof data === "string" ? data : Buffer.from(data).toString("latin1");
    const tokens = parseTokens(this.#sealer.unseal(Buffer.from(base64, "base64"), NOWHERE));
    return materialise({ tokens, children: [] }, this.#classes);
  }
}

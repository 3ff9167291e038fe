import type {
  CompareAndSetResult,
  Json,
  RecordKey,
  RecordStore,
  StoredRecord,
  WriteOptions,
} from "@longhaul/core";
import { storable } from "../address.ts";
import type { RecordRow, StorageDriver } from "../driver/driver.ts";
import { place } from "../encoding/place.ts";
import type { Sealer } from "../encoding/sealer.ts";
import {
  DamagedRecordError,
  LeasesUnsupportedError,
  RecordTooLargeError,
  UnstorableValueError,
} from "../errors.ts";

type Driver = Pick<StorageDriver, "records" | "maxBlobBytes" | "leases" | "target">;

/** Ledger records as sealed JSON. */
export class SealedRecords implements RecordStore {
  readonly #driver: Driver;
  readonly #sealer: Sealer;

  constructor(driver: Driver, sealer: Sealer) {
    this.#driver = driver;
    this.#sealer = sealer;
  }

  async get(key: RecordKey): Promise<StoredRecord | undefined> {
    check(key);
    return this.#open(await this.#driver.records.get(key));
  }

  async compareAndSet(
    key: RecordKey,
    expected: number | null,
    value: Json,
    { expiresAt, durable = false }: WriteOptions = {},
  ): Promise<CompareAndSetResult> {
    check(key);
    if (key.collection === "leases" && !this.#driver.leases)
      throw new LeasesUnsupportedError({ target: this.#driver.target });
    const data = this.#sealer.seal(textOf(key, value), place.record(key, expiresAt));
    const maxBytes = this.#driver.maxBlobBytes ?? Number.POSITIVE_INFINITY;
    if (data.length > maxBytes)
      throw new RecordTooLargeError({ record: `Record ${nameOf(key)}`, bytes: data.length, maxBytes });
    const result = await this.#driver.records.compareAndSet(key, expected, { data, expiresAt }, durable);
    return result.ok ? result : { ok: false, current: this.#open(result.current) };
  }

  async delete(key: RecordKey, expected?: number): Promise<boolean> {
    check(key);
    return this.#driver.records.delete(key, expected);
  }

  async *list(collection: string, thread: string, prefix = ""): AsyncIterable<StoredRecord> {
    check({ collection, thread, key: prefix });
    for await (const row of this.#driver.records.list(collection, thread, prefix)) yield this.#open(row);
  }

  #open(row: RecordRow): StoredRecord;
  #open(row: RecordRow | undefined): StoredRecord | undefined;
  #open(row: RecordRow | undefined): StoredRecord | undefined {
    if (!row) return undefined;
    const { key, version, expiresAt, data } = row;
    const damage = { threadId: key.thread, record: nameOf(key) };
    try {
      const value = JSON.parse(this.#sealer.unseal(data, place.record(key, expiresAt))) as Json;
      return { key: { ...key }, value, version, expiresAt };
    } catch (cause) {
      if (DamagedRecordError.isInstance(cause)) throw cause.at(damage);
      if (!(cause instanceof SyntaxError)) throw cause;
      throw new DamagedRecordError({ reason: "its text is not JSON", place: damage, cause });
    }
  }
}

function check({ collection, thread, key }: RecordKey): void {
  storable("collection", collection);
  if (thread !== "") storable("thread", thread);
  if (key !== "") storable("key", key);
}

/** @throws UnstorableValueError for what JSON does not take. */
function textOf(key: RecordKey, value: Json): string {
  let text: string | undefined;
  let reason = `a ${typeof value} is no JSON`;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    reason = (error as Error).message;
  }
  if (text === undefined) throw new UnstorableValueError({ path: `record ${nameOf(key)}`, reason });
  return text;
}

function nameOf(key: RecordKey): string {
  return `${key.collection}/${key.key}`;
}

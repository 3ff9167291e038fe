import type { Json } from "../json/json.ts";

/** Address of a record. Everything of a thread goes when the thread is deleted. */
export interface RecordKey {
  /** Which ledger: `effects`, `budgets`, `runs`, `leases`, `generations`, or a user's own name. */
  readonly collection: string;
  /** Thread id; `""` for records that belong to none. */
  readonly thread: string;
  readonly key: string;
}

export interface StoredRecord {
  readonly key: RecordKey;
  readonly value: Json;
  /**
   * Grows with each write of this record and never comes twice under its key, not even after a delete or an expiry; the
   * expected value of the next compare-and-set.
   */
  readonly version: number;
  /** Milliseconds since 1970 after which the record counts as absent; undefined: never. */
  readonly expiresAt?: number | undefined;
}

export interface WriteOptions {
  readonly expiresAt?: number | undefined;
  /**
   * The write must survive a power loss before the promise resolves. @default false (it survives a process death).
   * Claims and commits of effects ask for it.
   */
  readonly durable?: boolean | undefined;
}

export type CompareAndSetResult =
  | { readonly ok: true; readonly version: number }
  /** `current` is undefined when the record is absent. */
  | { readonly ok: false; readonly current: StoredRecord | undefined };

/**
 * The one port that the ledgers need: small records with compare-and-set.
 *
 * `compareAndSet` is atomic across tasks and, where the storage is shared, across processes. `expected` is the version
 * last read, or null for "must be absent". An expired record is absent to `get`, `list` and `compareAndSet`.
 * A record that cannot be decoded throws (typed, with its key) and is never reported as absent.
 */
export interface RecordStore {
  get(key: RecordKey): Promise<StoredRecord | undefined>;
  compareAndSet(
    key: RecordKey,
    expected: number | null,
    value: Json,
    options?: WriteOptions,
  ): Promise<CompareAndSetResult>;
  /** With `expected`, deletes only that version. Resolves to whether a record went. */
  delete(key: RecordKey, expected?: number): Promise<boolean>;
  /** Records of a collection in one thread whose key starts with `prefix`, in key order. */
  list(collection: string, thread: string, prefix?: string): AsyncIterable<StoredRecord>;
}

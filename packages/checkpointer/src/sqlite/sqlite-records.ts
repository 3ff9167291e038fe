import { randomInt } from "node:crypto";
import type {
  Clock,
  CompareAndSetResult,
  Json,
  RecordKey,
  RecordStore,
  StoredRecord,
  WriteOptions,
} from "@longhaul/core";
import { storable } from "../address.ts";
import { seal, unseal } from "../encoding/envelope.ts";
import { DamagedRecordError } from "../errors.ts";
import type { Connection } from "./connection.ts";

interface Row {
  readonly key: string;
  readonly version: number;
  readonly expires_at: number | null;
  readonly data: Uint8Array;
}

const ONE =
  "SELECT key, version, expires_at, data FROM records WHERE collection = ? AND thread_id = ? AND key = ?";
/** Rows read at once by `list`, so that a long one holds no lock and little memory. */
const PAGE = 200;

/** Ledger records on SQLite. Each write is one immediate transaction, so compare-and-set is atomic across processes. */
export class SqliteRecordStore implements RecordStore {
  readonly #connection: Connection;
  readonly #clock: Clock;

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  async get(key: RecordKey): Promise<StoredRecord | undefined> {
    check(key);
    const row = await this.#connection.read(() => this.#row(key));
    return row && this.#live(row) ? toRecord(key, row) : undefined;
  }

  async compareAndSet(
    key: RecordKey,
    expected: number | null,
    value: Json,
    options: WriteOptions = {},
  ): Promise<CompareAndSetResult> {
    check(key);
    const data = seal(JSON.stringify(value), "deflate");
    return this.#connection.write(
      (): CompareAndSetResult => {
        const row = this.#row(key);
        const isLive = row !== undefined && this.#live(row);
        if ((isLive ? row.version : null) !== expected) {
          return { ok: false, current: isLive ? toRecord(key, row) : undefined };
        }
        // No version comes twice under a key, not after an expiry and not after a delete: a late writer must not take the
        // new record for the one that it read.
        const version = row ? row.version + 1 : randomInt(1, 2 ** 40);
        this.#connection
          .statement(
            "INSERT OR REPLACE INTO records (collection, thread_id, key, version, expires_at, data) VALUES (?, ?, ?, ?, ?, ?)",
          )
          .run(key.collection, key.thread, key.key, version, options.expiresAt ?? null, data);
        return { ok: true, version };
      },
      { durable: options.durable ?? false },
    );
  }

  async delete(key: RecordKey, expected?: number): Promise<boolean> {
    check(key);
    return this.#connection.write(() => {
      const row = this.#row(key);
      if (!row || !this.#live(row) || (expected !== undefined && row.version !== expected)) return false;
      return (
        this.#connection
          .statement("DELETE FROM records WHERE collection = ? AND thread_id = ? AND key = ?")
          .run(key.collection, key.thread, key.key).changes > 0
      );
    });
  }

  async *list(collection: string, thread: string, prefix = ""): AsyncIterable<StoredRecord> {
    check({ collection, thread, key: prefix });
    let after: string | undefined;
    for (;;) {
      const from = after ?? prefix;
      const rows = await this.#connection.read(
        () =>
          this.#connection
            .statement(
              `SELECT key, version, expires_at, data FROM records WHERE collection = ? AND thread_id = ? AND key ${
                after === undefined ? ">=" : ">"
              } ? ORDER BY key LIMIT ${PAGE}`,
            )
            .all(collection, thread, from) as Row[],
      );
      for (const row of rows) {
        // keys with the prefix stand together from its first on
        if (!row.key.startsWith(prefix)) return;
        if (this.#live(row)) yield toRecord({ collection, thread, key: row.key }, row);
      }
      if (rows.length < PAGE) return;
      after = rows.at(-1)?.key;
    }
  }

  #row(key: RecordKey): Row | undefined {
    return this.#connection.statement(ONE).get(key.collection, key.thread, key.key) as Row | undefined;
  }

  #live(row: Row): boolean {
    return row.expires_at === null || row.expires_at > this.#clock.now();
  }
}

function check({ collection, thread, key }: RecordKey): void {
  storable("collection", collection);
  if (thread !== "") storable("thread", thread);
  if (key !== "") storable("key", key);
}

function toRecord(key: RecordKey, row: Row): StoredRecord {
  return {
    key: { ...key },
    value: readJson(row.data, key),
    version: row.version,
    expiresAt: row.expires_at ?? undefined,
  };
}

function readJson(data: Uint8Array, key: RecordKey): Json {
  const place = { threadId: key.thread, record: `${key.collection}/${key.key}` };
  try {
    return JSON.parse(unseal(data)) as Json;
  } catch (cause) {
    if (DamagedRecordError.isInstance(cause)) throw cause.at(place);
    throw new DamagedRecordError({ reason: "its text is not JSON", place, cause });
  }
}

import { randomInt } from "node:crypto";
import type { Clock, RecordKey } from "@longhaul/core";
import type { RecordRow, RecordTable, Row } from "../driver/driver.ts";
import { DamagedRecordError } from "../errors.ts";
import { bytes, inPlace, integer, text } from "./columns.ts";
import type { Connection } from "./connection.ts";

interface Stored {
  readonly collection: string;
  readonly thread_id: string;
  readonly key: string;
  readonly version: number;
  readonly expires_at: number | null;
  readonly data: Uint8Array;
}

const SELECT = "SELECT collection, thread_id, key, version, expires_at, data FROM records";
/** Rows read at once, so that a long list holds no lock and little memory. */
/** A record may hold the result of a tool. */
const PAGE = 20;

/** Ledger records on SQLite. Each write is one immediate transaction, so compare-and-set is atomic across processes. */
export class SqliteRecords implements RecordTable {
  readonly #connection: Connection;
  readonly #clock: Pick<Clock, "now">;

  constructor(connection: Connection, clock: Pick<Clock, "now">) {
    this.#connection = connection;
    this.#clock = clock;
  }

  async get(key: RecordKey): Promise<RecordRow | undefined> {
    const row = await this.#connection.read(() => this.#row(key));
    return row && this.#isLive(row) ? toRecord(row) : undefined;
  }

  compareAndSet(
    key: RecordKey,
    expected: number | null,
    { data, expiresAt }: Pick<RecordRow, "data" | "expiresAt">,
    durable: boolean,
  ): ReturnType<RecordTable["compareAndSet"]> {
    return this.#connection.write(
      () => {
        const row = this.#row(key);
        const isLive = row !== undefined && this.#isLive(row);
        if ((isLive ? row.version : null) !== expected)
          return { ok: false as const, current: isLive ? toRecord(row) : undefined };
        // No version comes twice under a key, not after an expiry and not after a delete: a late writer must not take the
        // new record for the one that it read.
        const version = row ? integer(row.version, "version") + 1 : firstVersion();
        this.#connection
          .statement(
            "INSERT OR REPLACE INTO records (collection, thread_id, key, version, expires_at, data) VALUES (?, ?, ?, ?, ?, ?)",
          )
          .run(key.collection, key.thread, key.key, version, expiresAt ?? null, data);
        return { ok: true as const, version };
      },
      { durable },
    );
  }

  delete(key: RecordKey, expected?: number): Promise<boolean> {
    return this.#connection.write(() => {
      const row = this.#row(key);
      if (!row || !this.#isLive(row) || (expected !== undefined && row.version !== expected)) return false;
      return (
        this.#connection
          .statement("DELETE FROM records WHERE collection = ? AND thread_id = ? AND key = ?")
          .run(key.collection, key.thread, key.key).changes > 0
      );
    });
  }

  async *list(collection: string, thread: string, prefix: string): AsyncIterable<RecordRow> {
    for (let after: string | undefined; ; ) {
      const from = after;
      const rows = (await this.#connection.read(() =>
        this.#connection
          .statement(
            `${SELECT} WHERE collection = ? AND thread_id = ? AND key ${from === undefined ? ">=" : ">"} ? ORDER BY key LIMIT ${PAGE}`,
          )
          .all(collection, thread, from ?? prefix),
      )) as Stored[];
      for (const row of rows) {
        // keys with the prefix stand together from its first on
        if (!text(row.key, "key").startsWith(prefix)) return;
        if (this.#isLive(row)) yield toRecord(row);
      }
      if (rows.length < PAGE) return;
      after = rows.at(-1)?.key;
    }
  }

  purge(thread: string): Promise<number> {
    return this.#connection.write(
      () =>
        this.#connection
          .statement("DELETE FROM records WHERE thread_id = ? AND expires_at <= ?")
          .run(thread, this.#clock.now()).changes,
    );
  }

  /** All of a thread, or of all, expired ones too. */
  async *rows(threadId: string | undefined): AsyncIterable<Row> {
    const conditions = threadId === undefined ? "" : "thread_id = ? AND";
    for (let last: readonly [string, string, string] = ["", "", ""]; ; ) {
      const from = last;
      const rows = (await this.#connection.read(() =>
        this.#connection
          .statement(
            `${SELECT} WHERE ${conditions} (collection, thread_id, key) > (?, ?, ?) ORDER BY collection, thread_id, key LIMIT ${PAGE}`,
          )
          .all(...(threadId === undefined ? [] : [threadId]), ...from),
      )) as Stored[];
      for (const row of rows) yield { kind: "record", ...toRecord(row) };
      const end = rows.at(-1);
      if (!end || rows.length < PAGE) return;
      last = [end.collection, end.thread_id, end.key];
    }
  }

  #row(key: RecordKey): Stored | undefined {
    return this.#connection
      .statement(`${SELECT} WHERE collection = ? AND thread_id = ? AND key = ?`)
      .get(key.collection, key.thread, key.key) as Stored | undefined;
  }

  #isLive(row: Stored): boolean {
    const expiresAt = expiryOf(row);
    return expiresAt === undefined || expiresAt > this.#clock.now();
  }
}

/** Far from every earlier one under the key, of which nothing may be left to count on from. */
export function firstVersion(): number {
  return randomInt(1, 2 ** 40);
}

function expiryOf(row: Stored): number | undefined {
  const value = row.expires_at;
  if (value === null) return undefined;
  if (typeof value === "number") return value;
  throw new DamagedRecordError({
    reason: "the column expires_at of a row of the database is not a number",
    place: { threadId: String(row.thread_id), record: `${row.collection}/${row.key}` },
  });
}

function toRecord(row: Stored): RecordRow {
  const place = { threadId: String(row.thread_id), record: `${row.collection}/${row.key}` };
  return inPlace(place, () => ({
    key: {
      collection: text(row.collection, "collection"),
      thread: text(row.thread_id, "thread_id"),
      key: text(row.key, "key"),
    },
    version: integer(row.version, "version"),
    expiresAt: expiryOf(row),
    data: bytes(row.data, "data"),
  }));
}

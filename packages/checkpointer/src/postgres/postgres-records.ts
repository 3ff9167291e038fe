import { randomInt } from "node:crypto";
import type { Clock, RecordKey } from "@longhaul/core";
import type { RecordRow, RecordTable, Row } from "../driver/driver.ts";
import type { Lanes } from "../lanes.ts";
import type { PostgresConnection, Query } from "./postgres-connection.ts";
import { idOf, recordId } from "./postgres-ids.ts";

interface Stored {
  readonly id: Buffer;
  readonly collection: string;
  readonly thread_id: string;
  readonly key: string;
  readonly version: string;
  readonly expires_at: number | null;
  readonly data: Uint8Array;
}

const COLUMNS = "id, collection, thread_id, key, version, expires_at, data";
/** A record may hold the result of a tool. */
const PAGE = 20;

/** Ledger records. Compare-and-set locks the row, or lets the unique key decide between two that insert at once. */
export class PostgresRecords implements RecordTable {
  readonly #connection: PostgresConnection;
  readonly #lanes: Lanes;
  readonly #clock: Pick<Clock, "now">;

  constructor(connection: PostgresConnection, lanes: Lanes, clock: Pick<Clock, "now">) {
    this.#connection = connection;
    this.#lanes = lanes;
    this.#clock = clock;
  }

  async get(key: RecordKey): Promise<RecordRow | undefined> {
    const rows = await this.#inThread(key.thread, () =>
      this.#connection.read<Stored>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE id = $1`, [recordId(key)]),
    );
    return this.#live(rows[0]);
  }

  compareAndSet(
    key: RecordKey,
    expected: number | null,
    { data, expiresAt }: Pick<RecordRow, "data" | "expiresAt">,
    durable: boolean,
  ): ReturnType<RecordTable["compareAndSet"]> {
    return this.#inThread(key.thread, () =>
      this.#connection.write(
        async (query) => {
          for (;;) {
            const stored = await this.#lock(query, key);
            const current = this.#live(stored);
            if ((current?.version ?? null) !== expected) return { ok: false as const, current };
            // no version comes twice under a key, not after an expiry and not after a deletion
            const version = stored ? Number(stored.version) + 1 : randomInt(1, 2 ** 40);
            if (stored) {
              await query(
                `UPDATE ${this.#table} SET version = $2, expires_at = $3, data = $4 WHERE id = $1`,
                [stored.id, version, expiresAt ?? null, data],
              );
              return { ok: true as const, version };
            }
            if (await this.#insert(query, key, version, data, expiresAt))
              return { ok: true as const, version };
          }
        },
        { durable },
      ),
    );
  }

  delete(key: RecordKey, expected?: number): Promise<boolean> {
    return this.#inThread(key.thread, () =>
      this.#connection.write(async (query) => {
        const rows = await query(
          `DELETE FROM ${this.#table} WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)
             AND ($3::bigint IS NULL OR version = $3) RETURNING 1`,
          [recordId(key), this.#clock.now(), expected ?? null],
        );
        return rows.length > 0;
      }),
    );
  }

  async *list(collection: string, thread: string, prefix: string): AsyncIterable<RecordRow> {
    for (let after: string | undefined; ; ) {
      const from = after;
      const rows = await this.#inThread(thread, () =>
        this.#connection.read<Stored>(
          `SELECT ${COLUMNS} FROM ${this.#table}
           WHERE thread = $1 AND left(collection, 100) = left($2, 100) AND collection = $2
             AND left(key, 400) >= left($3, 400) AND key ${from === undefined ? ">=" : ">"} $3
           ORDER BY left(key, 400), key LIMIT ${PAGE}`,
          [idOf(thread), collection, from ?? prefix],
        ),
      );
      for (const row of rows) {
        // keys with the prefix stand together from its first on
        if (!row.key.startsWith(prefix)) return;
        const live = this.#live(row);
        if (live) yield live;
      }
      if (rows.length < PAGE) return;
      after = rows.at(-1)?.key;
    }
  }

  purge(thread: string): Promise<number> {
    return this.#inThread(thread, () =>
      this.#connection.write(async (query) => {
        const rows = await query(
          `DELETE FROM ${this.#table} WHERE thread = $1 AND expires_at <= $2 RETURNING 1`,
          [idOf(thread), this.#clock.now()],
        );
        return rows.length;
      }),
    );
  }

  /** Replaces a record by what `raise` makes of it, within a transaction. */
  async raise(
    query: Query,
    key: RecordKey,
    raise: (data: Uint8Array | undefined) => Uint8Array,
  ): Promise<void> {
    for (;;) {
      const stored = await this.#lock(query, key);
      const data = raise(stored?.data);
      if (stored) {
        await query(
          `UPDATE ${this.#table} SET version = version + 1, expires_at = NULL, data = $2 WHERE id = $1`,
          [stored.id, data],
        );
        return;
      }
      if (await this.#insert(query, key, 1, data, undefined)) return;
    }
  }

  /** All of a thread, or of all, expired ones too. */
  async *rows(threadId: string | undefined): AsyncIterable<Row> {
    for (let after: Buffer | null = null; ; ) {
      const from: Buffer | null = after;
      const rows: Stored[] = await this.#inThread(threadId ?? "", () =>
        this.#connection.read<Stored>(
          `SELECT ${COLUMNS} FROM ${this.#table}
           WHERE ($1::bytea IS NULL OR thread = $1) AND ($2::bytea IS NULL OR id > $2) ORDER BY id LIMIT ${PAGE}`,
          [threadId === undefined ? null : idOf(threadId), from],
        ),
      );
      for (const row of rows) yield { kind: "record", ...toRecord(row) };
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.id;
    }
  }

  async #lock(query: Query, key: RecordKey): Promise<Stored | undefined> {
    const [stored] = await query<Stored>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE id = $1 FOR UPDATE`, [
      recordId(key),
    ]);
    return stored;
  }

  /** False when another came first. */
  async #insert(
    query: Query,
    key: RecordKey,
    version: number,
    data: Uint8Array,
    expiresAt: number | undefined,
  ): Promise<boolean> {
    const rows = await query(
      `INSERT INTO ${this.#table} (id, thread, collection, thread_id, key, version, expires_at, data)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING 1`,
      [
        recordId(key),
        idOf(key.thread),
        key.collection,
        key.thread,
        key.key,
        version,
        expiresAt ?? null,
        data,
      ],
    );
    return rows.length > 0;
  }

  async #inThread<T>(thread: string, job: () => Promise<T>): Promise<T> {
    this.#connection.refuseClosed();
    return this.#lanes.run(thread, job);
  }

  get #table(): string {
    return this.#connection.table("records");
  }

  #live(row: Stored | undefined): RecordRow | undefined {
    return row && (row.expires_at === null || row.expires_at > this.#clock.now()) ? toRecord(row) : undefined;
  }
}

function toRecord(row: Stored): RecordRow {
  return {
    key: { collection: row.collection, thread: row.thread_id, key: row.key },
    version: Number(row.version),
    expiresAt: row.expires_at ?? undefined,
    data: row.data,
  };
}

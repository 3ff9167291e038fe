import type { ArtifactRow, ArtifactTable, Row } from "../driver/driver.ts";
import type { Lanes } from "../lanes.ts";
import type { PostgresConnection } from "./postgres-connection.ts";
import { idOf } from "./postgres-ids.ts";

interface Stored {
  readonly id: string;
  readonly thread_id: string;
  readonly ref: string;
  readonly chars: string;
  readonly meta: Uint8Array;
  readonly data: Uint8Array;
}

const LIST_PAGE = 200;
/** An artifact may have megabytes. */
const ROWS_PAGE = 8;

export class PostgresArtifacts implements ArtifactTable {
  readonly #connection: PostgresConnection;
  readonly #lanes: Lanes;

  constructor(connection: PostgresConnection, lanes: Lanes) {
    this.#connection = connection;
    this.#lanes = lanes;
  }

  put(threadId: string, { ref, chars, meta, data }: ArtifactRow): Promise<boolean> {
    return this.#inThread(threadId, () =>
      this.#connection.write(async (query) => {
        const rows = await query(
          `INSERT INTO ${this.#table} (thread, key, thread_id, ref, chars, meta, data)
           VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING 1`,
          [idOf(threadId), idOf(ref), threadId, ref, chars, meta, data],
        );
        return rows.length > 0;
      }),
    );
  }

  async get(threadId: string, ref: string): Promise<ArtifactRow | undefined> {
    const [row] = await this.#inThread(threadId, () =>
      this.#connection.read<Stored>(
        `SELECT id, thread_id, ref, chars, meta, data FROM ${this.#table} WHERE thread = $1 AND key = $2`,
        [idOf(threadId), idOf(ref)],
      ),
    );
    return row && { ref, chars: Number(row.chars), meta: row.meta, data: row.data };
  }

  async *list(threadId: string): AsyncIterable<Omit<ArtifactRow, "data">> {
    for (let after = "0"; ; ) {
      const from = after;
      const rows = await this.#inThread(threadId, () =>
        this.#connection.read<Omit<Stored, "data">>(
          `SELECT id, thread_id, ref, chars, meta FROM ${this.#table} WHERE thread = $1 AND id > $2 ORDER BY id LIMIT ${LIST_PAGE}`,
          [idOf(threadId), from],
        ),
      );
      for (const { ref, chars, meta } of rows) yield { ref, chars: Number(chars), meta };
      const last = rows.at(-1);
      if (!last || rows.length < LIST_PAGE) return;
      after = last.id;
    }
  }

  /** All of a thread, or of all. */
  async *rows(wanted: string | undefined): AsyncIterable<Row> {
    for (let after = "0"; ; ) {
      const from = after;
      const rows = await this.#inThread(wanted ?? "", () =>
        this.#connection.read<Stored>(
          `SELECT id, thread_id, ref, chars, meta, data FROM ${this.#table}
           WHERE ($1::bytea IS NULL OR thread = $1) AND id > $2 ORDER BY id LIMIT ${ROWS_PAGE}`,
          [wanted === undefined ? null : idOf(wanted), from],
        ),
      );
      for (const { thread_id: threadId, ref, chars, meta, data } of rows)
        yield { kind: "artifact", threadId, ref, chars: Number(chars), meta, data };
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_PAGE) return;
      after = last.id;
    }
  }

  async #inThread<T>(thread: string, job: () => Promise<T>): Promise<T> {
    this.#connection.refuseClosed();
    return this.#lanes.run(thread, job);
  }

  get #table(): string {
    return this.#connection.table("artifacts");
  }
}

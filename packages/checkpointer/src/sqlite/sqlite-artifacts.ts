import type { ArtifactRow, ArtifactTable, Row } from "../driver/driver.ts";
import { bytes, inPlace, integer, text } from "./columns.ts";
import type { Connection } from "./connection.ts";

const LIST_PAGE = 200;
/** An artifact may have megabytes. */
const ROWS_PAGE = 8;

interface Listed {
  readonly id: number;
  readonly ref: string;
  readonly chars: number;
  readonly meta: Uint8Array;
}

export class SqliteArtifacts implements ArtifactTable {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  put(threadId: string, { ref, chars, meta, data }: ArtifactRow): Promise<boolean> {
    return this.#connection.write(
      () =>
        this.#connection
          .statement(
            "INSERT OR IGNORE INTO artifacts (thread_id, ref, chars, meta, data) VALUES (?, ?, ?, ?, ?)",
          )
          .run(threadId, ref, chars, meta, data).changes > 0,
    );
  }

  get(threadId: string, ref: string): Promise<ArtifactRow | undefined> {
    return this.#connection.read(() => {
      const row = this.#connection
        .statement("SELECT ref, chars, meta, data FROM artifacts WHERE thread_id = ? AND ref = ?")
        .get(threadId, ref) as ArtifactRow | undefined;
      const place = { threadId, record: `artifact ${ref}` };
      return row && inPlace(place, () => ({ ...listed(row), data: bytes(row.data, "data") }));
    });
  }

  async *list(threadId: string): AsyncIterable<Omit<ArtifactRow, "data">> {
    for (let after = 0; ; ) {
      const rows = (await this.#connection.read(() =>
        this.#connection
          .statement(
            `SELECT id, ref, chars, meta FROM artifacts WHERE thread_id = ? AND id > ? ORDER BY id LIMIT ${LIST_PAGE}`,
          )
          .all(threadId, after),
      )) as Listed[];
      for (const row of rows) yield listed(row);
      const last = rows.at(-1);
      if (!last || rows.length < LIST_PAGE) return;
      after = last.id;
    }
  }

  /** All of a thread, or of all. */
  async *rows(wanted: string | undefined): AsyncIterable<Row> {
    for (let after = 0; ; ) {
      const rows = (await this.#connection.read(() =>
        this.#connection
          .statement(
            `SELECT id, thread_id AS threadId, ref, chars, meta, data FROM artifacts WHERE ${
              wanted === undefined ? "" : "thread_id = ? AND"
            } id > ? ORDER BY id LIMIT ${ROWS_PAGE}`,
          )
          .all(...(wanted === undefined ? [after] : [wanted, after])),
      )) as (Listed & { readonly threadId: string; readonly data: Uint8Array })[];
      for (const row of rows)
        yield {
          kind: "artifact",
          threadId: text(row.threadId, "thread_id"),
          ...listed(row),
          data: bytes(row.data, "data"),
        };
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_PAGE) return;
      after = last.id;
    }
  }
}

function listed(row: Omit<ArtifactRow, "data">): Omit<ArtifactRow, "data"> {
  return {
    ref: text(row.ref, "ref"),
    chars: integer(row.chars, "chars"),
    meta: bytes(row.meta, "meta"),
  };
}

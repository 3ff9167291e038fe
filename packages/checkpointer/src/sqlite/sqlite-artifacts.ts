import { type Artifact, type ArtifactMeta, type ArtifactStore, artifactRef } from "@longhaul/core";
import { storable } from "../address.ts";
import { type Compression, seal, unseal } from "../encoding/envelope.ts";
import { DamagedRecordError } from "../errors.ts";
import type { Connection } from "./connection.ts";

const PAGE = 200;

/** Artifacts on SQLite. Stored as JSON strings, which keep lone surrogates. */
export class SqliteArtifactStore implements ArtifactStore {
  readonly #connection: Connection;
  readonly #compression: Compression;

  constructor(connection: Connection, compression: Compression) {
    this.#connection = connection;
    this.#compression = compression;
  }

  async put(thread: string, content: string, meta: ArtifactMeta, ref?: string): Promise<string> {
    storable("thread", thread);
    const name = storable("ref", ref ?? artifactRef(content));
    const metaBytes = seal(JSON.stringify(meta), this.#compression);
    const data = seal(JSON.stringify(content), this.#compression);
    await this.#connection.write(() =>
      this.#connection
        .statement(
          "INSERT OR IGNORE INTO artifacts (thread_id, ref, chars, meta, data) VALUES (?, ?, ?, ?, ?)",
        )
        .run(thread, name, content.length, metaBytes, data),
    );
    return name;
  }

  async get(thread: string, ref: string): Promise<Artifact | undefined> {
    const row = (await this.#connection.read(() =>
      this.#connection
        .statement("SELECT meta, data FROM artifacts WHERE thread_id = ? AND ref = ?")
        .get(thread, ref),
    )) as { meta: Uint8Array; data: Uint8Array } | undefined;
    if (!row) return undefined;
    return {
      ref,
      content: read<string>(row.data, thread, ref),
      meta: read<ArtifactMeta>(row.meta, thread, ref),
    };
  }

  async *list(thread: string): AsyncIterable<{ ref: string; meta: ArtifactMeta; chars: number }> {
    for (let after = 0; ; ) {
      const rows = (await this.#connection.read(() =>
        this.#connection
          .statement(
            `SELECT id, ref, meta, chars FROM artifacts WHERE thread_id = ? AND id > ? ORDER BY id LIMIT ${PAGE}`,
          )
          .all(thread, after),
      )) as { id: number; ref: string; meta: Uint8Array; chars: number }[];
      for (const row of rows) {
        yield { ref: row.ref, meta: read<ArtifactMeta>(row.meta, thread, row.ref), chars: row.chars };
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.id;
    }
  }
}

function read<T>(data: Uint8Array, threadId: string, ref: string): T {
  const place = { threadId, record: `artifact ${ref}` };
  try {
    return JSON.parse(unseal(data)) as T;
  } catch (cause) {
    if (DamagedRecordError.isInstance(cause)) throw cause.at(place);
    throw new DamagedRecordError({ reason: "its text is not JSON", place, cause });
  }
}

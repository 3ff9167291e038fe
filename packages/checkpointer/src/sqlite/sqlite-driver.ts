import type { ArtifactStore, Deps, RecordStore } from "@longhaul/core";
import type {
  Batch,
  BlobKind,
  CommitResult,
  HeadAddress,
  HeadQuery,
  HeadRow,
  StorageDriver,
  ThreadRow,
  ValueKey,
  ValueRow,
  WriteRow,
} from "../driver/driver.ts";
import { type Compression, seal, unseal } from "../encoding/envelope.ts";
import { Connection } from "./connection.ts";
import { SqliteArtifactStore } from "./sqlite-artifacts.ts";
import { SqliteRecordStore } from "./sqlite-records.ts";

export interface SqliteDriverOptions {
  readonly path: string;
  readonly readOnly: boolean;
  readonly busyWaitMs: number;
  readonly compression: Compression;
  readonly deps: Deps;
}

interface ThreadKey {
  readonly id: number;
  readonly pruned: number;
}

/** Rows read at once by the iterators. */
const PAGE = 500;

export class SqliteDriver implements StorageDriver {
  readonly target: string;
  readonly survivesProcess: boolean;
  readonly records: RecordStore;
  readonly artifacts: ArtifactStore;
  readonly #connection: Connection;

  constructor(options: SqliteDriverOptions) {
    this.target = options.path;
    this.survivesProcess = options.path !== ":memory:";
    this.#connection = new Connection(options);
    this.records = new SqliteRecordStore(this.#connection, options.deps.clock);
    this.artifacts = new SqliteArtifactStore(this.#connection, options.compression);
  }

  open(): Promise<void> {
    return this.#connection.open();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  era(threadId: string): Promise<string | undefined> {
    return this.#connection.read(() => {
      const thread = this.#thread(threadId);
      return thread && eraOf(thread);
    });
  }

  commit(batch: Batch): Promise<CommitResult> {
    return this.#connection
      .write((): CommitResult => {
        let thread = this.#thread(batch.threadId);
        if (batch.era !== undefined && (!thread || eraOf(thread) !== batch.era))
          return { ok: false, reason: "stale" };
        thread ??= this.#addThread(batch.threadId);
        // values first: a conflict must be found before anything is written
        const conflict = this.#putValues(thread.id, batch.namespace, batch.values);
        if (conflict) throw new Conflict(conflict);
        this.#putChunks(thread.id, batch.chunks);
        const sibling = batch.head && this.#putHead(thread.id, batch.namespace, batch.head);
        if (batch.writes) this.#putWrites(thread.id, batch.namespace, batch.writes);
        return { ok: true, era: eraOf(thread), sibling };
      })
      .catch((error: unknown): CommitResult => {
        if (error instanceof Conflict) return { ok: false, reason: "conflict", key: error.key };
        throw error;
      });
  }

  head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined> {
    return this.#connection.read(() => {
      const thread = this.#thread(threadId);
      if (!thread) return undefined;
      const select = "SELECT checkpoint_id, parent_id, data FROM heads WHERE thread = ? AND ns = ?";
      const row =
        checkpointId === undefined
          ? this.#sql(`${select} ORDER BY checkpoint_id DESC LIMIT 1`).get(thread.id, namespace)
          : this.#sql(`${select} AND checkpoint_id = ?`).get(thread.id, namespace, checkpointId);
      if (!row) return undefined;
      const found = row as { checkpoint_id: string; parent_id: string | null; data: Uint8Array };
      return {
        threadId,
        namespace,
        checkpointId: found.checkpoint_id,
        parentId: found.parent_id ?? undefined,
        data: found.data,
      };
    });
  }

  addresses(query: HeadQuery): Promise<HeadAddress[]> {
    const conditions: string[] = [];
    const values: unknown[] = [];
    const where = (condition: string, value: unknown) => {
      if (value === undefined) return;
      conditions.push(condition);
      values.push(value);
    };
    where("thread_id = ?", query.threadId);
    where("ns = ?", query.namespace);
    where("checkpoint_id = ?", query.checkpointId);
    where("checkpoint_id < ?", query.before);
    values.push(query.limit ?? -1);
    const sql = `SELECT thread_id AS threadId, ns AS namespace, checkpoint_id AS checkpointId FROM heads JOIN threads ON threads.id = thread
      ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""} ORDER BY checkpoint_id DESC LIMIT ?`;
    return this.#connection.read(() => this.#sql(sql).all(...values) as HeadAddress[]);
  }

  writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]> {
    return this.#connection.read(() => {
      const thread = this.#thread(address.threadId);
      if (!thread) return [];
      const rows = this.#sql(
        'SELECT task_id AS taskId, idx AS "index", task_path AS taskPath, channel, data FROM writes WHERE thread = ? AND ns = ? AND checkpoint_id = ?',
      ).all(thread.id, address.namespace, address.checkpointId) as WriteRow[];
      return channels ? rows.filter((row) => channels.includes(row.channel)) : rows;
    });
  }

  values(
    threadId: string,
    namespace: string,
    keys: readonly ValueKey[],
  ): Promise<(Uint8Array | undefined)[]> {
    return this.#connection.read(() => {
      const thread = this.#thread(threadId);
      return keys.map((key) => (thread ? this.#value(thread.id, namespace, key) : undefined));
    });
  }

  chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    return this.#connection.read(() => {
      const found = new Map<string, Uint8Array>();
      const thread = this.#thread(threadId);
      if (!thread) return found;
      const statement = this.#sql("SELECT data FROM chunks WHERE thread = ? AND hash = ?");
      for (const hash of hashes) {
        const row = statement.get(thread.id, Buffer.from(hash, "base64url")) as
          | { data: Uint8Array }
          | undefined;
        if (row) found.set(hash, row.data);
      }
      return found;
    });
  }

  async *threads(): AsyncIterable<ThreadRow> {
    for (let after = 0; ; ) {
      const rows = (await this.#connection.read(() =>
        this.#sql(
          `SELECT threads.id, thread_id AS threadId, count(*) AS checkpoints, max(checkpoint_id) AS latestCheckpointId
           FROM threads JOIN heads ON heads.thread = threads.id WHERE threads.id > ? GROUP BY threads.id ORDER BY threads.id LIMIT ${PAGE}`,
        ).all(after),
      )) as (ThreadRow & { id: number })[];
      for (const { threadId, checkpoints, latestCheckpointId } of rows) {
        yield { threadId, checkpoints, latestCheckpointId };
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.id;
    }
  }

  async *sizes(threadId?: string): AsyncIterable<{ kind: BlobKind; data: Uint8Array }> {
    // the first bytes hold the size; the rest is not read
    const tables: readonly [BlobKind, string][] = [
      ["head", "heads"],
      ["value", "channel_values"],
      ["write", "writes"],
      ["chunk", "chunks"],
    ];
    for (const [kind, table] of tables) {
      for (let offset = 0; ; offset += PAGE) {
        const rows = (await this.#connection.read(() =>
          this.#sql(
            `SELECT data FROM ${table} ${threadId === undefined ? "" : "WHERE thread = (SELECT id FROM threads WHERE thread_id = ?)"} LIMIT ${PAGE} OFFSET ${offset}`,
          ).all(...(threadId === undefined ? [] : [threadId])),
        )) as { data: Uint8Array }[];
        for (const { data } of rows) yield { kind, data };
        if (rows.length < PAGE) break;
      }
    }
  }

  async *chunkHashes(threadId: string): AsyncIterable<string> {
    for (let after = 0; ; ) {
      const rows = (await this.#connection.read(() =>
        this.#sql(
          `SELECT id, hash FROM chunks WHERE thread = (SELECT id FROM threads WHERE thread_id = ?) AND id > ? ORDER BY id LIMIT ${PAGE}`,
        ).all(threadId, after),
      )) as { id: number; hash: Buffer }[];
      for (const { hash } of rows) yield hash.toString("base64url");
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.id;
    }
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#connection.write(
      () => {
        const thread = this.#thread(threadId);
        if (thread) {
          for (const table of ["heads", "channel_values", "writes", "chunks"]) {
            this.#sql(`DELETE FROM ${table} WHERE thread = ?`).run(thread.id);
          }
          this.#sql("DELETE FROM threads WHERE id = ?").run(thread.id);
        }
        // leases stay: their tokens must not repeat, and whoever drives the thread still holds it
        this.#sql("DELETE FROM records WHERE thread_id = ? AND collection <> 'leases'").run(threadId);
        this.#sql("DELETE FROM artifacts WHERE thread_id = ?").run(threadId);
        this.#raiseGeneration(threadId);
      },
      // an effect must not be taken for done because the deletion was lost
      { durable: true },
    );
  }

  /** So that keys of effects of the new life of a thread differ from those of the old one. */
  #raiseGeneration(threadId: string): void {
    const row = this.#sql(
      "SELECT version, data FROM records WHERE collection = 'generations' AND thread_id = '' AND key = ?",
    ).get(threadId) as { version: number; data: Uint8Array } | undefined;
    const generation = row ? (JSON.parse(unseal(row.data)) as { generation: number }).generation : 0;
    this.#sql(
      "INSERT OR REPLACE INTO records (collection, thread_id, key, version, expires_at, data) VALUES ('generations', '', ?, ?, NULL, ?)",
    ).run(
      threadId,
      (row?.version ?? 0) + 1,
      seal(JSON.stringify({ v: 1, generation: generation + 1 }), "none"),
    );
  }

  #thread(threadId: string): ThreadKey | undefined {
    return this.#sql("SELECT id, pruned FROM threads WHERE thread_id = ?").get(threadId) as
      | ThreadKey
      | undefined;
  }

  #addThread(threadId: string): ThreadKey {
    const { lastInsertRowid } = this.#sql("INSERT INTO threads (thread_id) VALUES (?)").run(threadId);
    return { id: Number(lastInsertRowid), pruned: 0 };
  }

  #value(thread: number, namespace: string, { channel, version }: ValueKey): Uint8Array | undefined {
    const row = this.#sql(
      "SELECT data FROM channel_values WHERE thread = ? AND ns = ? AND channel = ? AND version = ?",
    ).get(thread, namespace, channel, version) as { data: Uint8Array } | undefined;
    return row?.data;
  }

  #putValues(thread: number, namespace: string, rows: readonly ValueRow[]): ValueKey | undefined {
    const insert = this.#sql("INSERT OR IGNORE INTO channel_values VALUES (?, ?, ?, ?, ?)");
    for (const row of rows) {
      if (insert.run(thread, namespace, row.channel, row.version, row.data).changes > 0) continue;
      const present = this.#value(thread, namespace, row);
      // the same text may be packed otherwise by another version or option
      if (present && unseal(present) !== unseal(row.data))
        return { channel: row.channel, version: row.version };
    }
    return undefined;
  }

  #putChunks(thread: number, chunks: Batch["chunks"]): void {
    const insert = this.#sql("INSERT OR IGNORE INTO chunks (thread, hash, data) VALUES (?, ?, ?)");
    for (const { hash, data } of chunks) insert.run(thread, Buffer.from(hash, "base64url"), data);
  }

  #putHead(thread: number, namespace: string, head: NonNullable<Batch["head"]>): string | undefined {
    const newest = this.#sql(
      "SELECT checkpoint_id FROM heads WHERE thread = ? AND ns = ? ORDER BY checkpoint_id DESC LIMIT 1",
    ).get(thread, namespace) as { checkpoint_id: string } | undefined;
    this.#sql("INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?, ?)").run(
      thread,
      namespace,
      head.checkpointId,
      head.parentId ?? null,
      head.data,
    );
    const id = newest?.checkpoint_id;
    return id === head.parentId || id === head.checkpointId ? undefined : id;
  }

  #putWrites(thread: number, namespace: string, { checkpointId, rows }: NonNullable<Batch["writes"]>): void {
    const columns = "INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    for (const row of rows) {
      this.#sql(`INSERT OR ${row.index < 0 ? "REPLACE" : "IGNORE"} ${columns}`).run(
        thread,
        namespace,
        checkpointId,
        row.taskId,
        row.index,
        row.taskPath,
        row.channel,
        row.data,
      );
    }
  }

  #sql(sql: string) {
    return this.#connection.statement(sql);
  }
}

/** Carries a conflict out of the transaction, which is rolled back by it. */
class Conflict extends Error {
  readonly key: ValueKey;
  constructor(key: ValueKey) {
    super("conflict");
    this.key = key;
  }
}

function eraOf({ id, pruned }: ThreadKey): string {
  return `${id}.${pruned}`;
}

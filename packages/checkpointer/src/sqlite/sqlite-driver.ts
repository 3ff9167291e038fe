import type { Deps } from "@longhaul/core";
import type {
  ArtifactTable,
  Batch,
  CommitResult,
  HeadAddress,
  HeadQuery,
  HeadRow,
  RecordTable,
  Row,
  RowKind,
  StorageDriver,
  Sweep,
  ThreadRow,
  ThreadState,
  ValueKey,
  WriteRow,
} from "../driver/driver.ts";
import { DamagedRecordError, StorageBusyError, StorageWriteError } from "../errors.ts";
import { bytes, inPlace, integer, optional, text } from "./columns.ts";
import { Connection } from "./connection.ts";
import { SqliteArtifacts } from "./sqlite-artifacts.ts";
import { firstVersion, SqliteRecords } from "./sqlite-records.ts";
import { readRows } from "./sqlite-rows.ts";

export interface SqliteDriverOptions {
  readonly path: string;
  readonly readOnly: boolean;
  readonly busyWaitMs: number;
  readonly deps: Deps;
}

interface ThreadKey {
  readonly id: number;
  readonly revision: number;
  readonly swept: number;
}

interface StoredHead {
  readonly ns: string;
  readonly checkpoint_id: string;
  readonly parent_id: string | null;
  readonly sequence: number;
  readonly data: Uint8Array;
}

const HEAD = "SELECT ns, checkpoint_id, parent_id, sequence, data FROM heads";
/** Threads read at once by the iterators. */
const THREADS_PAGE = 200;
/** Heads read at once; one may have tens of kilobytes. */
const HEADS_PAGE = 40;
/** Pages given back to the file system in one step. */
const VACUUM_STEP = 200;

/**
 * One file in WAL mode. Each call is one short transaction; several processes may share the file. A commit survives a process death; records that
 * ask for it and deletions survive a power loss.
 */
export class SqliteDriver implements StorageDriver {
  readonly target: string;
  readonly survivesProcess: boolean;
  readonly powerLoss: "on-request" | "none";
  readonly leases = true;
  readonly maxBlobBytes = 900_000_000;
  readonly records: RecordTable;
  readonly artifacts: ArtifactTable;
  readonly #connection: Connection;

  constructor(options: SqliteDriverOptions) {
    this.target = options.path;
    this.survivesProcess = options.path !== ":memory:";
    this.powerLoss = this.survivesProcess ? "on-request" : "none";
    this.#connection = new Connection(options);
    this.records = new SqliteRecords(this.#connection, options.deps.clock);
    this.artifacts = new SqliteArtifacts(this.#connection);
  }

  open(): Promise<void> {
    return this.#connection.open();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  thread(threadId: string): Promise<ThreadState | undefined> {
    return this.#connection.read(() => {
      const thread = this.#thread(threadId);
      return thread && { era: eraOf(thread), revision: revisionOf(thread) };
    });
  }

  commit(batch: Batch): Promise<CommitResult> {
    return this.#connection
      .write((): CommitResult => {
        if (batch.guard && !batch.guard.allows(this.#record(batch.guard.key))) throw new Refused("refused");
        const known = this.#thread(batch.threadId);
        if (batch.era !== undefined && (!known || eraOf(known) !== batch.era)) throw new Refused("stale");
        const thread = known ?? this.#addThread(batch.threadId);
        // values first: a conflict must be found before anything else is written
        this.#putValues(thread.id, batch);
        this.#putChunks(thread.id, batch.chunks);
        this.#sql("UPDATE threads SET revision = revision + 1 WHERE id = ?").run(thread.id);
        const sibling = batch.head && this.#putHead(thread, batch.namespace, batch.head);
        if (batch.writes) this.#putWrites(thread.id, batch.namespace, batch.writes);
        return { ok: true, era: eraOf(thread), sibling };
      })
      .catch((error: unknown): CommitResult => {
        if (error instanceof Conflict) return { ok: false, reason: "conflict", key: error.key };
        if (error instanceof Refused) return { ok: false, reason: error.reason };
        throw error;
      });
  }

  async sweep(sweep: Sweep): Promise<"done" | "changed"> {
    const result = await this.#connection.write((): "done" | "changed" => {
      const thread = this.#thread(sweep.threadId);
      if (!thread || revisionOf(thread) !== sweep.revision) return "changed";
      const { id } = thread;
      const removeHead = this.#sql("DELETE FROM heads WHERE thread = ? AND ns = ? AND checkpoint_id = ?");
      const removeWrites = this.#sql("DELETE FROM writes WHERE thread = ? AND ns = ? AND checkpoint_id = ?");
      for (const { namespace, checkpointId } of sweep.heads) {
        removeHead.run(id, namespace, checkpointId);
        removeWrites.run(id, namespace, checkpointId);
      }
      const removeValue = this.#sql(
        "DELETE FROM channel_values WHERE thread = ? AND ns = ? AND channel = ? AND version = ?",
      );
      for (const { namespace, channel, version } of sweep.values)
        removeValue.run(id, namespace, channel, version);
      const removeChunk = this.#sql("DELETE FROM chunks WHERE thread = ? AND hash = ?");
      for (const hash of sweep.chunks) removeChunk.run(id, hashBytes(hash));
      const rewrite = this.#sql(
        "UPDATE heads SET parent_id = ?, data = ? WHERE thread = ? AND ns = ? AND checkpoint_id = ?",
      );
      for (const { namespace, checkpointId, parentId, data } of sweep.rewritten)
        rewrite.run(parentId ?? null, data, id, namespace, checkpointId);
      this.#sql("UPDATE threads SET revision = revision + 1, swept = swept + 1 WHERE id = ?").run(id);
      return "done";
    });
    if (result === "done") await this.#shrink();
    return result;
  }

  async deleteThread(
    threadId: string,
    raise: (generation: Uint8Array | undefined) => Uint8Array,
  ): Promise<void> {
    await this.#connection.write(
      () => {
        const thread = this.#thread(threadId);
        if (thread) {
          for (const table of ["heads", "channel_values", "writes", "chunks"])
            this.#sql(`DELETE FROM ${table} WHERE thread = ?`).run(thread.id);
          this.#sql("DELETE FROM threads WHERE id = ?").run(thread.id);
        }
        this.#sql("DELETE FROM records WHERE thread_id = ? AND collection <> 'leases'").run(threadId);
        this.#sql("DELETE FROM artifacts WHERE thread_id = ?").run(threadId);
        const key = { collection: "generations", thread: "", key: threadId };
        this.#sql(
          `INSERT INTO records (collection, thread_id, key, version, expires_at, data) VALUES (?, ?, ?, ?, NULL, ?)
           ON CONFLICT DO UPDATE SET version = version + 1, expires_at = NULL, data = excluded.data`,
        ).run(key.collection, key.thread, key.key, firstVersion(), raise(this.#record(key)));
      },
      // an effect must not be taken for done because the deletion was lost
      { durable: true },
    );
    await this.#shrink();
  }

  head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined> {
    return this.#connection.read(() => {
      const thread = this.#thread(threadId);
      if (!thread) return undefined;
      const row = (
        checkpointId === undefined
          ? this.#sql(`${HEAD} WHERE thread = ? AND ns = ? ORDER BY sequence DESC LIMIT 1`).get(
              thread.id,
              namespace,
            )
          : this.#sql(`${HEAD} WHERE thread = ? AND ns = ? AND checkpoint_id = ?`).get(
              thread.id,
              namespace,
              checkpointId,
            )
      ) as StoredHead | undefined;
      return row && toHead(threadId, row);
    });
  }

  async *heads(query: HeadQuery): AsyncIterable<HeadRow> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    for await (const { id, threadId } of this.#threadIds(query.threadId)) {
      let below = query.below ?? Number.MAX_SAFE_INTEGER;
      for (;;) {
        const page = Math.min(HEADS_PAGE, left);
        if (page <= 0) return;
        const rows = await this.#connection.read(() => this.#headPage(id, query, below, page));
        for (const row of rows) yield toHead(threadId, row);
        left -= rows.length;
        const last = rows.at(-1);
        if (!last || rows.length < page) break;
        below = last.sequence;
      }
    }
  }

  #headPage(
    thread: number,
    { namespace, checkpointId }: HeadQuery,
    below: number,
    page: number,
  ): StoredHead[] {
    const conditions = ["thread = ?", "sequence < ?"];
    const values: unknown[] = [thread, below];
    if (namespace !== undefined) {
      conditions.push("ns = ?");
      values.push(namespace);
    }
    if (checkpointId !== undefined) {
      conditions.push("checkpoint_id = ?");
      values.push(checkpointId);
    }
    const sql = `${HEAD} WHERE ${conditions.join(" AND ")} ORDER BY sequence DESC LIMIT ?`;
    return this.#sql(sql).all(...values, page) as StoredHead[];
  }

  writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]> {
    return this.#connection.read(() => {
      const thread = this.#thread(address.threadId);
      if (!thread) return [];
      const rows = this.#sql(
        'SELECT task_id AS taskId, idx AS "index", task_path AS taskPath, channel, data FROM writes WHERE thread = ? AND ns = ? AND checkpoint_id = ?',
      ).all(thread.id, address.namespace, address.checkpointId) as WriteRow[];
      const wanted = channels ? rows.filter((row) => channels.includes(row.channel)) : rows;
      return wanted.map((row) =>
        inPlace({ ...address, channel: String(row.channel) }, () => ({
          taskId: text(row.taskId, "task_id"),
          index: integer(row.index, "idx"),
          taskPath: text(row.taskPath, "task_path"),
          channel: text(row.channel, "channel"),
          data: bytes(row.data, "data"),
        })),
      );
    });
  }

  values(
    threadId: string,
    namespace: string,
    keys: readonly ValueKey[],
  ): Promise<(Uint8Array | undefined)[]> {
    return this.#connection.read(() => {
      const thread = this.#thread(threadId);
      if (!thread) return keys.map(() => undefined);
      return inPlace({ threadId }, () => keys.map((key) => this.#value(thread.id, namespace, key)));
    });
  }

  chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    return this.#connection.read(() => {
      const found = new Map<string, Uint8Array>();
      const thread = this.#thread(threadId);
      if (!thread) return found;
      const statement = this.#sql("SELECT data FROM chunks WHERE thread = ? AND hash = ?");
      for (const hash of hashes) {
        const row = statement.get(thread.id, hashBytes(hash)) as { data: Uint8Array } | undefined;
        if (row)
          found.set(
            hash,
            inPlace({ threadId }, () => bytes(row.data, "data")),
          );
      }
      return found;
    });
  }

  async *threads(): AsyncIterable<ThreadRow> {
    for await (const { id, threadId } of this.#threadIds(undefined)) {
      const row = (await this.#connection.read(() =>
        this.#sql(
          `SELECT count(*) AS checkpoints, (SELECT checkpoint_id FROM heads WHERE thread = ?1 ORDER BY sequence DESC LIMIT 1) AS latest
           FROM heads WHERE thread = ?1`,
        ).get({ 1: id }),
      )) as { checkpoints: number; latest: string | null };
      if (row.latest !== null)
        yield {
          threadId,
          checkpoints: row.checkpoints,
          latestCheckpointId: text(row.latest, "checkpoint_id"),
        };
    }
  }

  async *rows(threadId?: string, kinds?: readonly RowKind[]): AsyncIterable<Row> {
    const wants = (kind: RowKind) => kinds === undefined || kinds.includes(kind);
    for await (const thread of this.#threadIds(threadId)) yield* readRows(this.#connection, thread, wants);
    if (wants("record")) yield* (this.records as SqliteRecords).rows(threadId);
    if (wants("artifact")) yield* (this.artifacts as SqliteArtifacts).rows(threadId);
  }

  async check(): Promise<readonly string[]> {
    try {
      return await this.#check();
    } catch (error) {
      // so damaged that not even the check runs through
      if (DamagedRecordError.isInstance(error)) return [error.reason];
      throw error;
    }
  }

  #check(): Promise<readonly string[]> {
    return this.#connection.read((database) => {
      const answers = (database.pragma("integrity_check(100)") as { integrity_check: string }[])
        .map((row) => row.integrity_check)
        .filter((line) => line !== "ok")
        .map((line) => `SQLite: ${line}`);
      for (const table of ["heads", "channel_values", "writes", "chunks"]) {
        const { n } = this.#sql(
          `SELECT count(*) AS n FROM ${table} WHERE thread NOT IN (SELECT id FROM threads)`,
        ).get() as { n: number };
        if (n > 0) answers.push(`${n} rows of ${table} belong to no thread`);
      }
      return answers;
    });
  }

  async *#threadIds(
    threadId: string | undefined,
  ): AsyncIterable<{ readonly id: number; readonly threadId: string }> {
    if (threadId !== undefined) {
      const thread = await this.#connection.read(() => this.#thread(threadId));
      if (thread) yield { id: thread.id, threadId };
      return;
    }
    for (let after = 0; ; ) {
      const rows = (await this.#connection.read(() =>
        this.#sql(
          `SELECT id, thread_id AS threadId FROM threads WHERE id > ? ORDER BY id LIMIT ${THREADS_PAGE}`,
        ).all(after),
      )) as { id: number; threadId: string }[];
      for (const row of rows) yield { id: integer(row.id, "id"), threadId: text(row.threadId, "thread_id") };
      const last = rows.at(-1);
      if (!last || rows.length < THREADS_PAGE) return;
      after = last.id;
    }
  }

  /** What was asked for is done by now, so that a lock of others or a full disk is no failure: the pages are used for new rows. */
  async #shrink(): Promise<void> {
    try {
      await this.#vacuum();
    } catch (error) {
      if (!StorageBusyError.isInstance(error) && !StorageWriteError.isInstance(error)) throw error;
    }
  }

  /** Gives freed pages back to the file system, a few at a time, so that other writers come in between. */
  async #vacuum(): Promise<void> {
    for (let before = Number.POSITIVE_INFINITY; ; ) {
      const free = await this.#connection.read((database) =>
        Number(database.pragma("freelist_count", { simple: true })),
      );
      // a file of an auto_vacuum mode that someone changed keeps its free pages for new rows
      if (free === 0 || free >= before) return;
      before = free;
      await this.#connection.read((database) => database.pragma(`incremental_vacuum(${VACUUM_STEP})`));
    }
  }

  #thread(threadId: string): ThreadKey | undefined {
    const row = this.#sql("SELECT id, revision, swept FROM threads WHERE thread_id = ?").get(threadId) as
      | ThreadKey
      | undefined;
    return (
      row && {
        id: integer(row.id, "id"),
        revision: integer(row.revision, "revision"),
        swept: integer(row.swept, "swept"),
      }
    );
  }

  #addThread(threadId: string): ThreadKey {
    const { lastInsertRowid } = this.#sql("INSERT INTO threads (thread_id) VALUES (?)").run(threadId);
    return { id: Number(lastInsertRowid), revision: 0, swept: 0 };
  }

  #record(key: { readonly collection: string; readonly thread: string; readonly key: string }) {
    const row = this.#sql("SELECT data FROM records WHERE collection = ? AND thread_id = ? AND key = ?").get(
      key.collection,
      key.thread,
      key.key,
    ) as { data: Uint8Array } | undefined;
    return row && bytes(row.data, "data");
  }

  #value(thread: number, namespace: string, { channel, version }: ValueKey): Uint8Array | undefined {
    const row = this.#sql(
      "SELECT data FROM channel_values WHERE thread = ? AND ns = ? AND channel = ? AND version = ?",
    ).get(thread, namespace, channel, version) as { data: Uint8Array } | undefined;
    return row && inPlace({ namespace, channel }, () => bytes(row.data, "data"));
  }

  #putValues(thread: number, { namespace, values, isSame }: Batch): void {
    const insert = this.#sql("INSERT OR IGNORE INTO channel_values VALUES (?, ?, ?, ?, ?)");
    for (const { channel, version, data } of values) {
      if (insert.run(thread, namespace, channel, version, data).changes > 0) continue;
      const key = { channel, version };
      const stored = this.#value(thread, namespace, key);
      if (stored && Buffer.compare(stored, data) !== 0 && !isSame(key, stored, data)) throw new Conflict(key);
    }
  }

  #putChunks(thread: number, chunks: Batch["chunks"]): void {
    const insert = this.#sql("INSERT OR IGNORE INTO chunks (thread, hash, data) VALUES (?, ?, ?)");
    for (const { hash, data } of chunks) insert.run(thread, hashBytes(hash), data);
  }

  #putHead(thread: ThreadKey, namespace: string, head: NonNullable<Batch["head"]>): string | undefined {
    const newest = this.#sql(
      "SELECT checkpoint_id FROM heads WHERE thread = ? AND ns = ? ORDER BY sequence DESC LIMIT 1",
    ).get(thread.id, namespace) as { checkpoint_id: string } | undefined;
    this.#sql(
      `INSERT INTO heads VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET parent_id = excluded.parent_id, data = excluded.data`,
    ).run(thread.id, namespace, head.checkpointId, head.parentId ?? null, thread.revision + 1, head.data);
    const id = newest?.checkpoint_id;
    return id === head.parentId || id === head.checkpointId ? undefined : id;
  }

  #putWrites(thread: number, namespace: string, { checkpointId, rows }: NonNullable<Batch["writes"]>): void {
    for (const row of rows) {
      this.#sql(
        `INSERT OR ${row.index < 0 ? "REPLACE" : "IGNORE"} INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ).run(thread, namespace, checkpointId, row.taskId, row.index, row.taskPath, row.channel, row.data);
    }
  }

  #sql(sql: string) {
    return this.#connection.statement(sql);
  }
}

/** Carry an answer out of the transaction, which is rolled back by them. */
class Conflict extends Error {
  readonly key: ValueKey;
  constructor(key: ValueKey) {
    super("conflict");
    this.key = key;
  }
}
class Refused extends Error {
  readonly reason: "stale" | "refused";
  constructor(reason: "stale" | "refused") {
    super(reason);
    this.reason = reason;
  }
}

function hashBytes(hash: string): Buffer {
  return Buffer.from(hash, "base64url");
}

function toHead(threadId: string, row: StoredHead): HeadRow {
  const place = { threadId, namespace: String(row.ns), checkpointId: String(row.checkpoint_id) };
  return inPlace(place, () => ({
    threadId,
    namespace: text(row.ns, "ns"),
    checkpointId: text(row.checkpoint_id, "checkpoint_id"),
    parentId: optional(row.parent_id, "parent_id", text),
    sequence: integer(row.sequence, "sequence"),
    data: bytes(row.data, "data"),
  }));
}

function eraOf({ id, swept }: ThreadKey): string {
  return `${id}.${swept}`;
}

function revisionOf({ id, revision }: ThreadKey): string {
  return `${id}.${revision}`;
}

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
import { Lanes } from "../lanes.ts";
import { describeTarget } from "../target.ts";
import { PostgresArtifacts } from "./postgres-artifacts.ts";
import { PostgresConnection, type Query } from "./postgres-connection.ts";
import { idOf, recordId } from "./postgres-ids.ts";
import { PostgresRecords } from "./postgres-records.ts";
import { readRows } from "./postgres-rows.ts";

export interface PostgresDriverOptions {
  /** `postgres://user:password@host:port/database?schema=longhaul`. */
  readonly url: string;
  /** @default the url's `schema`, else "longhaul" */
  readonly schema?: string | undefined;
  /** Milliseconds that a call waits for a row that another process holds. */
  readonly busyWaitMs: number;
  /** Connections at most. @default 10 */
  readonly max?: number | undefined;
  /** Milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number | undefined;
  /** Milliseconds after which the server ends a statement. @default 30_000 */
  readonly statementTimeoutMs?: number | undefined;
  readonly deps: Pick<Deps, "clock">;
}

interface Thread {
  readonly id: string;
  readonly revision: string;
  readonly swept: string;
}

interface StoredHead {
  readonly ns: string;
  readonly checkpoint_id: string;
  readonly parent_id: string | null;
  readonly sequence: string;
  readonly data: Uint8Array;
}

const HEAD = "ns, checkpoint_id, parent_id, sequence, data";
/** Blobs in lists go as hexadecimal text: the client holds about three times as much. */
const STATEMENT_BYTES = 4_000_000;
/** A statement takes 65,535 parameters. */
const STATEMENT_ROWS = 10_000;
const THREADS_PAGE = 200;
/** Heads read at once; one may have tens of kilobytes. */
const HEADS_PAGE = 40;

/**
 * Tables in a schema of their own, for many workers. A commit is one transaction that holds the thread's row, so writers of one thread come one
 * after another and those of different threads side by side.
 */
export class PostgresDriver implements StorageDriver {
  readonly target: string;
  readonly survivesProcess = true;
  readonly powerLoss = "on-request";
  readonly leases = true;
  /** The client reads a blob as hexadecimal text, which may have 512 MB. */
  readonly maxBlobBytes = 200_000_000;
  readonly records: RecordTable;
  readonly artifacts: ArtifactTable;
  readonly #connection: PostgresConnection;
  readonly #records: PostgresRecords;
  readonly #artifacts: PostgresArtifacts;
  readonly #lanes = new Lanes();

  constructor(options: PostgresDriverOptions) {
    const { url, busyWaitMs, max = 10, connectTimeoutMs = 10_000, statementTimeoutMs = 30_000 } = options;
    const schema = options.schema ?? new URL(url).searchParams.get("schema") ?? "longhaul";
    this.target = describeTarget({ kind: "postgres", url });
    const { target } = this;
    this.#connection = new PostgresConnection({
      url,
      target,
      schema,
      readOnly: new URL(url).searchParams.get("mode") === "ro",
      busyWaitMs,
      max,
      connectTimeoutMs,
      statementTimeoutMs,
    });
    this.#records = new PostgresRecords(this.#connection, this.#lanes, options.deps.clock);
    this.#artifacts = new PostgresArtifacts(this.#connection, this.#lanes);
    this.records = this.#records;
    this.artifacts = this.#artifacts;
  }

  async open(): Promise<void> {
    await this.#connection.open();
  }

  async close(): Promise<void> {
    await this.#lanes.idle();
    await this.#connection.close();
  }

  async thread(threadId: string): Promise<ThreadState | undefined> {
    const thread = await this.#inThread(threadId, () => this.#thread(threadId));
    return thread && { era: eraOf(thread), revision: revisionOf(thread) };
  }

  commit(batch: Batch): Promise<CommitResult> {
    return this.#inThread(batch.threadId, () =>
      this.#connection
        .write((query, opened) => this.#commit(query, batch, opened), { first: this.#opening(batch) })
        .catch((error: unknown): CommitResult => {
          if (error instanceof Answer) return error.result;
          throw error;
        }),
    );
  }

  /** Reads the guard's record, then locks the thread's row and raises its revision. With `BEGIN`, the statement and `COMMIT`: three round trips. */
  #opening({ threadId, guard }: Batch): readonly string[] {
    const raise = this.#raise(literal(idOf(threadId)));
    if (!guard) return [raise];
    return [
      `SELECT data FROM ${this.#table("records")} WHERE id = ${literal(recordId(guard.key))} FOR SHARE`,
      raise,
    ];
  }

  async #commit(query: Query, batch: Batch, opened: readonly (readonly unknown[])[]): Promise<CommitResult> {
    if (batch.guard) {
      const [record] = opened[0] as readonly { data: Uint8Array }[];
      if (!batch.guard.allows(record?.data)) throw new Answer({ ok: false, reason: "refused" });
    }
    const [locked] = opened.at(-1) as readonly Thread[];
    const thread =
      locked ?? (batch.era === undefined ? await this.#create(query, batch.threadId) : undefined);
    if (!thread || (batch.era !== undefined && eraOf(thread) !== batch.era))
      throw new Answer({ ok: false, reason: "stale" });
    const { namespace, head, values, writes } = batch;
    const chunks = await this.#insertMost(query, thread.id, batch.chunks);
    const at = head && idOf(namespace, head.checkpointId);
    const rows = writes?.rows ?? [];
    // write-once first wins within one batch too; one statement cannot touch a row twice
    const [specials, ordinary] = [
      lastOf(rows.filter((row) => row.index < 0)),
      firstOf(rows.filter((row) => row.index >= 0)),
    ];
    const toWrite = [...specials, ...ordinary];
    const [found] = await query<{ stored: string; newest: string | null }>(
      `WITH v AS (INSERT INTO ${this.#table("channel_values")} (thread, key, ns, channel, version, data)
           SELECT $1::bigint, u.key, $2::text, u.channel, u.version, u.data
           FROM unnest($3::bytea[], $4::text[], $5::text[], $6::bytea[]) AS u (key, channel, version, data)
           ON CONFLICT DO NOTHING RETURNING 1),
         c AS (INSERT INTO ${this.#table("chunks")} (thread, hash, data)
           SELECT $1::bigint, u.hash, u.data FROM unnest($7::bytea[], $8::bytea[]) AS u (hash, data) ON CONFLICT DO NOTHING),
         w AS (INSERT INTO ${this.#table("writes")} AS old (thread, head, key, ns, checkpoint_id, task_id, idx, task_path, channel, data)
           SELECT $1::bigint, $9::bytea, u.key, $2::text, $10::text, u.task_id, u.idx, u.task_path, u.channel, u.data
           FROM unnest($11::bytea[], $12::text[], $13::int[], $14::text[], $15::text[], $16::bytea[])
             AS u (key, task_id, idx, task_path, channel, data)
           ON CONFLICT (thread, head, key) DO UPDATE
             SET task_path = excluded.task_path, channel = excluded.channel, data = excluded.data WHERE old.idx < 0),
         h AS (INSERT INTO ${this.#table("heads")} (thread, key, ns, checkpoint_id, parent_id, sequence, data)
           SELECT $1::bigint, $17::bytea, $2::text, $18::text, $19::text, $20::bigint, $21::bytea WHERE $17::bytea IS NOT NULL
           ON CONFLICT (thread, key) DO UPDATE SET parent_id = excluded.parent_id, data = excluded.data)
       SELECT (SELECT count(*) FROM v) AS stored,
         (SELECT checkpoint_id FROM ${this.#table("heads")}
          WHERE thread = $1::bigint AND left(ns, 400) = left($2::text, 400) AND ns = $2::text ORDER BY sequence DESC LIMIT 1) AS newest`,
      [
        thread.id,
        namespace,
        values.map(({ channel, version }) => idOf(namespace, channel, version)),
        values.map(({ channel }) => channel),
        values.map(({ version }) => version),
        values.map(({ data }) => data),
        chunks.map(({ hash }) => Buffer.from(hash, "base64url")),
        chunks.map(({ data }) => data),
        writes ? idOf(namespace, writes.checkpointId) : null,
        writes?.checkpointId ?? null,
        toWrite.map((row) => idOf(row.taskId, String(row.index))),
        toWrite.map((row) => row.taskId),
        toWrite.map((row) => row.index),
        toWrite.map((row) => row.taskPath),
        toWrite.map((row) => row.channel),
        toWrite.map((row) => row.data),
        at ?? null,
        head?.checkpointId ?? null,
        head?.parentId ?? null,
        thread.revision,
        head?.data ?? null,
      ],
    );
    if (Number(found?.stored) < values.length) await this.#checkSame(query, thread.id, batch);
    const newest = found?.newest ?? undefined;
    const isFork = head && newest !== head.parentId && newest !== head.checkpointId;
    return { ok: true, era: eraOf(thread), sibling: isFork ? newest : undefined };
  }

  /** What is more than one statement takes well goes ahead of it, in the same transaction. Answers the rest. */
  async #insertMost(query: Query, thread: string, chunks: Batch["chunks"]): Promise<Batch["chunks"]> {
    let rest: Batch["chunks"][number][] = [];
    let bytes = 0;
    for (const chunk of chunks) {
      if (rest.length > 0 && (bytes + chunk.data.length > STATEMENT_BYTES || rest.length >= STATEMENT_ROWS)) {
        // single parameters go as bytes, lists as text
        const rows = rest.map((_, i) => `($1::bigint, $${2 * i + 2}::bytea, $${2 * i + 3}::bytea)`);
        await query(
          `INSERT INTO ${this.#table("chunks")} (thread, hash, data) VALUES ${rows.join(", ")} ON CONFLICT DO NOTHING`,
          [thread, ...rest.flatMap(({ hash, data }) => [Buffer.from(hash, "base64url"), data])],
        );
        rest = [];
        bytes = 0;
      }
      rest.push(chunk);
      bytes += chunk.data.length;
    }
    return rest;
  }

  /** Makes the thread's row and locks it. */
  async #create(query: Query, threadId: string): Promise<Thread> {
    const key = idOf(threadId);
    for (;;) {
      // of two that come at once the second finds the row of the first
      await query(
        `INSERT INTO ${this.#table("threads")} (key, thread_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
        [key, threadId],
      );
      const [thread] = await query<Thread>(this.#raise("$1"), [key]);
      if (thread) return thread;
    }
  }

  #raise(key: string): string {
    return `UPDATE ${this.#table("threads")} SET revision = revision + 1 WHERE key = ${key} RETURNING id, revision, swept`;
  }

  async #checkSame(query: Query, thread: string, { namespace, values, isSame }: Batch): Promise<void> {
    const rows = await query<{ channel: string; version: string; data: Uint8Array }>(
      `SELECT channel, version, data FROM ${this.#table("channel_values")} WHERE thread = $1 AND key = ANY($2::bytea[])`,
      [thread, values.map(({ channel, version }) => idOf(namespace, channel, version))],
    );
    for (const { channel, version, data } of values) {
      const stored = rows.find((row) => row.channel === channel && row.version === version)?.data;
      const key = { channel, version };
      if (stored && Buffer.compare(stored, data) !== 0 && !isSame(key, stored, data))
        throw new Answer({ ok: false, reason: "conflict", key });
    }
  }

  sweep(sweep: Sweep): Promise<"done" | "changed"> {
    return this.#inThread(sweep.threadId, () =>
      this.#connection.write(async (query) => {
        const [thread] = await query<Thread>(
          `SELECT id, revision, swept FROM ${this.#table("threads")} WHERE key = $1 FOR UPDATE`,
          [idOf(sweep.threadId)],
        );
        if (!thread || revisionOf(thread) !== sweep.revision) return "changed";
        const heads = sweep.heads.map(({ namespace, checkpointId }) => idOf(namespace, checkpointId));
        const values = sweep.values.map(({ namespace, channel, version }) =>
          idOf(namespace, channel, version),
        );
        const chunks = sweep.chunks.map((hash) => Buffer.from(hash, "base64url"));
        const remove = (table: string, column: string, keys: readonly Uint8Array[]) =>
          query(`DELETE FROM ${this.#table(table)} WHERE thread = $1 AND ${column} = ANY($2::bytea[])`, [
            thread.id,
            keys,
          ]);
        await remove("heads", "key", heads);
        await remove("writes", "head", heads);
        await remove("channel_values", "key", values);
        await remove("chunks", "hash", chunks);
        for (const { namespace, checkpointId, parentId, data } of sweep.rewritten) {
          await query(
            `UPDATE ${this.#table("heads")} SET parent_id = $1, data = $2 WHERE thread = $3 AND key = $4`,
            [parentId ?? null, data, thread.id, idOf(namespace, checkpointId)],
          );
        }
        await query(
          `UPDATE ${this.#table("threads")} SET revision = revision + 1, swept = swept + 1 WHERE id = $1`,
          [thread.id],
        );
        return "done";
      }),
    );
  }

  deleteThread(threadId: string, raise: (generation: Uint8Array | undefined) => Uint8Array): Promise<void> {
    return this.#inThread(threadId, () =>
      this.#connection.write(
        async (query) => {
          const key = idOf(threadId);
          const [thread] = await query<{ id: string }>(
            `SELECT id FROM ${this.#table("threads")} WHERE key = $1 FOR UPDATE`,
            [key],
          );
          if (thread) {
            for (const table of ["heads", "channel_values", "writes", "chunks"])
              await query(`DELETE FROM ${this.#table(table)} WHERE thread = $1`, [thread.id]);
            await query(`DELETE FROM ${this.#table("threads")} WHERE id = $1`, [thread.id]);
          }
          await query(`DELETE FROM ${this.#table("records")} WHERE thread = $1 AND collection <> 'leases'`, [
            key,
          ]);
          await query(`DELETE FROM ${this.#table("artifacts")} WHERE thread = $1`, [key]);
          await this.#records.raise(query, { collection: "generations", thread: "", key: threadId }, raise);
        },
        { durable: true },
      ),
    );
  }

  async head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined> {
    const of = `thread = (SELECT id FROM ${this.#table("threads")} WHERE key = $1)`;
    const select = `SELECT ${HEAD} FROM ${this.#table("heads")} WHERE ${of}`;
    const [row] = await this.#inThread(threadId, () =>
      checkpointId === undefined
        ? this.#connection.read<StoredHead>(
            `${select} AND left(ns, 400) = left($2, 400) AND ns = $2 ORDER BY sequence DESC LIMIT 1`,
            [idOf(threadId), namespace],
          )
        : this.#connection.read<StoredHead>(`${select} AND key = $2`, [
            idOf(threadId),
            idOf(namespace, checkpointId),
          ]),
    );
    return row && toHead(threadId, row);
  }

  async *heads(query: HeadQuery): AsyncIterable<HeadRow> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    for await (const { id, threadId } of this.#threadIds(query.threadId)) {
      let below = query.below ?? Number.MAX_SAFE_INTEGER;
      for (;;) {
        const page = Math.min(HEADS_PAGE, left);
        if (page <= 0) return;
        const rows = await this.#connection.read<StoredHead>(
          `SELECT ${HEAD} FROM ${this.#table("heads")} WHERE thread = $1 AND sequence < $2
             AND ($3::text IS NULL OR ns = $3) AND ($4::text IS NULL OR checkpoint_id = $4)
           ORDER BY sequence DESC LIMIT $5`,
          [id, below, query.namespace ?? null, query.checkpointId ?? null, page],
        );
        for (const row of rows) yield toHead(threadId, row);
        left -= rows.length;
        const last = rows.at(-1);
        if (!last || rows.length < page) break;
        below = Number(last.sequence);
      }
    }
  }

  async writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]> {
    const rows = await this.#inThread(address.threadId, () =>
      this.#connection.read<{
        task_id: string;
        idx: number;
        task_path: string;
        channel: string;
        data: Uint8Array;
      }>(
        `SELECT task_id, idx, task_path, channel, data FROM ${this.#table("writes")}
         WHERE thread = (SELECT id FROM ${this.#table("threads")} WHERE key = $1) AND head = $2
           AND ($3::text[] IS NULL OR channel = ANY($3))`,
        [idOf(address.threadId), idOf(address.namespace, address.checkpointId), channels ?? null],
      ),
    );
    return rows.map((row) => ({
      taskId: row.task_id,
      index: row.idx,
      taskPath: row.task_path,
      channel: row.channel,
      data: row.data,
    }));
  }

  async values(
    threadId: string,
    namespace: string,
    keys: readonly ValueKey[],
  ): Promise<(Uint8Array | undefined)[]> {
    if (keys.length === 0) return [];
    const rows = await this.#inThread(threadId, () =>
      this.#connection.read<{ channel: string; version: string; data: Uint8Array }>(
        `SELECT channel, version, data FROM ${this.#table("channel_values")}
         WHERE thread = (SELECT id FROM ${this.#table("threads")} WHERE key = $1) AND key = ANY($2::bytea[])`,
        [idOf(threadId), keys.map(({ channel, version }) => idOf(namespace, channel, version))],
      ),
    );
    const found = new Map(rows.map((row) => [JSON.stringify([row.channel, row.version]), row.data]));
    return keys.map(({ channel, version }) => found.get(JSON.stringify([channel, version])));
  }

  async chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    if (hashes.length === 0) return new Map();
    const rows = await this.#inThread(threadId, () =>
      this.#connection.read<{ hash: Buffer; data: Uint8Array }>(
        `SELECT hash, data FROM ${this.#table("chunks")}
         WHERE thread = (SELECT id FROM ${this.#table("threads")} WHERE key = $1) AND hash = ANY($2::bytea[])`,
        [idOf(threadId), hashes.map((hash) => Buffer.from(hash, "base64url"))],
      ),
    );
    return new Map(rows.map(({ hash, data }) => [hash.toString("base64url"), data]));
  }

  async *threads(): AsyncIterable<ThreadRow> {
    for await (const { id, threadId } of this.#threadIds(undefined)) {
      const [row] = await this.#connection.read<{ checkpoints: string; latest: string | null }>(
        `SELECT (SELECT count(*) FROM ${this.#table("heads")} WHERE thread = $1) AS checkpoints,
           (SELECT checkpoint_id FROM ${this.#table("heads")} WHERE thread = $1 ORDER BY sequence DESC LIMIT 1) AS latest`,
        [id],
      );
      if (row?.latest != null)
        yield { threadId, checkpoints: Number(row.checkpoints), latestCheckpointId: row.latest };
    }
  }

  async *rows(threadId?: string, kinds?: readonly RowKind[]): AsyncIterable<Row> {
    const wants = (kind: RowKind) => kinds === undefined || kinds.includes(kind);
    for await (const thread of this.#threadIds(threadId)) yield* readRows(this.#connection, thread, wants);
    if (wants("record")) yield* this.#records.rows(threadId);
    if (wants("artifact")) yield* this.#artifacts.rows(threadId);
  }

  async check(): Promise<readonly string[]> {
    await this.#lanes.idle();
    const problems: string[] = [];
    for (const table of ["heads", "channel_values", "writes", "chunks"]) {
      const [row] = await this.#connection.read<{ n: string }>(
        `SELECT count(*) AS n FROM ${this.#table(table)} r
         WHERE NOT EXISTS (SELECT 1 FROM ${this.#table("threads")} t WHERE t.id = r.thread)`,
      );
      if (Number(row?.n) > 0) problems.push(`${row?.n} rows of ${table} belong to no thread`);
    }
    return problems;
  }

  async *#threadIds(
    threadId: string | undefined,
  ): AsyncIterable<{ readonly id: string; readonly threadId: string }> {
    if (threadId !== undefined) {
      const thread = await this.#inThread(threadId, () => this.#thread(threadId));
      if (thread) yield { id: thread.id, threadId };
      return;
    }
    this.#connection.refuseClosed();
    await this.#lanes.idle();
    for (let after = "0"; ; ) {
      const rows = await this.#connection.read<{ id: string; threadId: string }>(
        `SELECT id, thread_id AS "threadId" FROM ${this.#table("threads")} WHERE id > $1 ORDER BY id LIMIT ${THREADS_PAGE}`,
        [after],
      );
      yield* rows;
      const last = rows.at(-1);
      if (!last || rows.length < THREADS_PAGE) return;
      after = last.id;
    }
  }

  async #thread(threadId: string): Promise<Thread | undefined> {
    const [thread] = await this.#connection.read<Thread>(
      `SELECT id, revision, swept FROM ${this.#table("threads")} WHERE key = $1`,
      [idOf(threadId)],
    );
    return thread;
  }

  async #inThread<T>(threadId: string, job: () => Promise<T>): Promise<T> {
    this.#connection.refuseClosed();
    return this.#lanes.run(threadId, job);
  }

  #table(name: string): string {
    return this.#connection.table(name);
  }
}

/** Carries an answer out of the transaction, which is rolled back by it. */
class Answer extends Error {
  readonly result: CommitResult;
  constructor(result: CommitResult) {
    super("rolled back");
    this.result = result;
  }
}

/** Of a hash, for a statement without parameters. */
function literal(hash: Uint8Array): string {
  return `decode('${Buffer.from(hash).toString("hex")}', 'hex')`;
}

function addressOf(row: WriteRow): string {
  return JSON.stringify([row.taskId, row.index]);
}

function lastOf(rows: readonly WriteRow[]): WriteRow[] {
  return [...new Map(rows.map((row) => [addressOf(row), row])).values()];
}

function firstOf(rows: readonly WriteRow[]): WriteRow[] {
  return lastOf([...rows].reverse()).reverse();
}

function toHead(threadId: string, row: StoredHead): HeadRow {
  return {
    threadId,
    namespace: row.ns,
    checkpointId: row.checkpoint_id,
    parentId: row.parent_id ?? undefined,
    sequence: Number(row.sequence),
    data: row.data,
  };
}

function eraOf({ id, swept }: Thread): string {
  return `${id}.${swept}`;
}

function revisionOf({ id, revision }: Thread): string {
  return `${id}.${revision}`;
}

import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Deps, RecordKey } from "@longhaul/core";
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
import {
  DamagedRecordError,
  StorageClosedError,
  StorageWriteError,
  UnreadableTargetError,
} from "../errors.ts";
import { Lanes } from "../lanes.ts";
import { copyOf } from "../memory/bytes.ts";
import { withLock } from "./folder-lock.ts";
import { folderName } from "./folder-name.ts";
import { readHeader } from "./read-header.ts";
import { ThreadFile } from "./thread-file.ts";

export interface FileDriverOptions {
  /** The folder that holds the threads' folders. */
  readonly path: string;
  readonly readOnly?: boolean | undefined;
  /** Milliseconds that a write waits for another process. */
  readonly busyWaitMs: number;
  readonly deps: Pick<Deps, "clock" | "random">;
}

/** Threads held in memory at once. */
const OPEN_THREADS = 50;

/**
 * A folder for each thread with one journal of JSON lines: readable, no native code, for one machine and moderate sizes. A thread in use is held
 * in memory as it is packed. Several processes may share the folder; leases are not possible on it.
 */
export class FileDriver implements StorageDriver {
  readonly target: string;
  readonly survivesProcess = true;
  readonly powerLoss = "on-request";
  readonly leases = false;
  readonly maxBlobBytes = 100_000_000;
  readonly records: RecordTable;
  readonly artifacts: ArtifactTable;
  readonly #options: FileDriverOptions;
  readonly #files = new Map<string, ThreadFile>();
  readonly #lanes = new Lanes();
  #closed = false;
  /** A thread was seen in the folder. */
  #isOurs = false;

  constructor(options: FileDriverOptions) {
    this.target = options.path;
    this.#options = options;
    this.records = this.#recordTable();
    this.artifacts = this.#artifactTable();
  }

  async open(): Promise<void> {
    this.#checkOpen();
    this.#checkRoot();
    const { path, readOnly } = this.#options;
    if (!readOnly) mkdirSync(path, { recursive: true });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#lanes.idle();
    this.#files.clear();
  }

  thread(threadId: string): Promise<ThreadState | undefined> {
    return this.#read(threadId, stateOf);
  }

  commit(batch: Batch): Promise<CommitResult> {
    const { threadId, namespace, chunks, values, head, writes, guard } = batch;
    return this.#write(threadId, (file): CommitResult => {
      if (guard) {
        const holder = ownerOf(guard.key) === threadId ? file : undefined;
        if (!guard.allows(holder?.records.row(guard.key)?.data)) return { ok: false, reason: "refused" };
      }
      if (batch.era !== undefined && stateOf(file)?.era !== batch.era) return { ok: false, reason: "stale" };
      const refusal = file.rows?.refusal(batch);
      if (refusal) return refusal;
      const newest = head && file.rows?.head(namespace)?.checkpointId;
      file.write(
        {
          op: "commit",
          born: file.born ?? performance.timeOrigin + performance.now(),
          namespace,
          chunks,
          values: values.map(({ channel, version, data }) => ({ channel, version, data })),
          ...(head === undefined ? {} : { head }),
          ...(writes === undefined ? {} : { writes }),
        },
        false,
      );
      const isFork = head && newest !== head.parentId && newest !== head.checkpointId;
      return { ok: true, era: file.life, sibling: isFork ? newest : undefined };
    });
  }

  sweep(sweep: Sweep): Promise<"done" | "changed"> {
    return this.#write(sweep.threadId, (file) => {
      if (stateOf(file)?.revision !== sweep.revision) return "changed";
      file.sweep(sweep);
      return "done";
    });
  }

  deleteThread(threadId: string, raise: (generation: Uint8Array | undefined) => Uint8Array): Promise<void> {
    const key = { collection: "generations", thread: "", key: threadId };
    return this.#write(threadId, (file) =>
      file.erase({ key, data: copyOf(raise(file.records.row(key)?.data)) }),
    );
  }

  head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined> {
    return this.#read(threadId, (file) => file.rows?.head(namespace, checkpointId));
  }

  async *heads(query: HeadQuery): AsyncIterable<HeadRow> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    for await (const rows of this.#each(query.threadId, (file) => file.rows?.heads(query) ?? [])) {
      for (const row of rows) {
        if (left <= 0) return;
        left -= 1;
        yield { ...row, data: copyOf(row.data) };
      }
    }
  }

  writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]> {
    return this.#read(address.threadId, (file) => file.rows?.writes(address, channels) ?? []);
  }

  values(
    threadId: string,
    namespace: string,
    keys: readonly ValueKey[],
  ): Promise<(Uint8Array | undefined)[]> {
    return this.#read(threadId, (file) => file.rows?.values(namespace, keys) ?? keys.map(() => undefined));
  }

  chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    return this.#read(threadId, (file) => file.rows?.chunks(hashes) ?? new Map());
  }

  async *threads(): AsyncIterable<ThreadRow> {
    for await (const summary of this.#each(undefined, (file) => file.rows?.summary()))
      if (summary) yield summary;
  }

  async *rows(threadId?: string, kinds?: readonly RowKind[]): AsyncIterable<Row> {
    const rowsOf = (file: ThreadFile): Row[] => [
      ...(file.rows?.rows() ?? []),
      // the generation of a thread stands in its own folder, and belongs to none
      ...file.records.rows(threadId),
      ...file.artifacts.rows(undefined),
    ];
    for await (const rows of this.#each(threadId, rowsOf))
      for (const row of rows)
        if (kinds === undefined || kinds.includes(row.kind)) yield { ...row, data: copyOf(row.data) };
  }

  /** What `job` reads of a thread, or of one after another. A damaged one is reported after all that can be read. */
  async *#each<T>(threadId: string | undefined, job: (file: ThreadFile) => T): AsyncIterable<T> {
    const ids = threadId === undefined ? (await this.#threadIds()).map(({ id }) => id) : [threadId];
    let damage: unknown;
    for (const id of ids) {
      let result: { readonly of: T } | undefined;
      try {
        result = { of: await this.#read(id, job) };
      } catch (error) {
        if (!DamagedRecordError.isInstance(error)) throw error;
        damage ??= error;
      }
      if (result) yield result.of;
    }
    if (damage !== undefined) throw damage;
  }

  async check(threadId?: string): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const { id } of await this.#threadIds()) {
      if (threadId !== undefined && id !== threadId) continue;
      try {
        await this.#read(id, () => undefined);
      } catch (error) {
        if (!DamagedRecordError.isInstance(error)) throw error;
        problems.push(error.reason);
      }
    }
    if (threadId === undefined) problems.push(...this.#strangers());
    return problems;
  }

  #recordTable(): RecordTable {
    return {
      get: (key) => this.#read(ownerOf(key), (file) => file.records.get(key)),
      compareAndSet: (key, expected, { data, expiresAt }, durable) =>
        this.#write(ownerOf(key), (file) => {
          const current = file.records.get(key);
          if ((current?.version ?? null) !== expected) return { ok: false as const, current };
          const version = file.records.nextVersion(key);
          file.write({ op: "record", row: { key, version, expiresAt, data: copyOf(data) } }, durable);
          return { ok: true as const, version };
        }),
      delete: (key, expected) =>
        this.#write(ownerOf(key), (file) => {
          const current = file.records.get(key);
          if (!current || (expected !== undefined && current.version !== expected)) return false;
          file.write({ op: "forget", key }, false);
          return true;
        }),
      list: (collection, thread, prefix) => this.#listRecords(collection, thread, prefix),
      purge: (thread) =>
        this.#write(thread, (file) => {
          const keys = file.records.expired(thread);
          for (const key of keys) file.write({ op: "forget", key }, false);
          return keys.length;
        }),
    };
  }

  async *#listRecords(collection: string, thread: string, prefix: string) {
    const keys = await this.#read(thread, (file) =>
      file.records.list(collection, thread, prefix).map((row) => row.key),
    );
    for (const key of keys) {
      const row = await this.#read(thread, (file) => file.records.get(key));
      if (row) yield row;
    }
  }

  #artifactTable(): ArtifactTable {
    return {
      put: (threadId, row) =>
        this.#write(threadId, (file) => {
          if (file.artifacts.get(threadId, row.ref)) return false;
          file.write({ op: "artifact", row }, false);
          return true;
        }),
      get: (threadId, ref) => this.#read(threadId, (file) => file.artifacts.get(threadId, ref)),
      list: (threadId) => this.#listArtifacts(threadId),
    };
  }

  async *#listArtifacts(threadId: string) {
    yield* await this.#read(threadId, (file) => file.artifacts.list(threadId));
  }

  async #read<T>(threadId: string, job: (file: ThreadFile) => T): Promise<T> {
    this.#checkOpen();
    return this.#lanes.run(threadId, async () => {
      this.#checkRoot();
      const file = this.#file(threadId);
      file.refresh();
      return job(file);
    });
  }

  async #write<T>(threadId: string, job: (file: ThreadFile) => T): Promise<T> {
    this.#checkOpen();
    const { readOnly, busyWaitMs, deps } = this.#options;
    if (readOnly) throw new StorageWriteError({ target: this.target, reason: "read-only" });
    return this.#lanes.run(threadId, async () => {
      const folder = this.#folder(threadId);
      try {
        mkdirSync(folder, { recursive: true });
      } catch (cause) {
        throw new StorageWriteError({ target: folder, reason: "io", cause });
      }
      return withLock(join(folder, "lock"), { waitMs: busyWaitMs, deps }, () => {
        const file = this.#file(threadId);
        file.refresh();
        try {
          return job(file);
        } catch (error) {
          // what is in memory may be ahead of the journal
          this.#files.delete(threadId);
          throw error;
        }
      });
    });
  }

  /** The one used last is kept longest. */
  #file(threadId: string): ThreadFile {
    const file =
      this.#files.get(threadId) ?? new ThreadFile(this.#folder(threadId), threadId, this.#options.deps.clock);
    this.#files.delete(threadId);
    this.#files.set(threadId, file);
    const [oldest] = this.#files.keys();
    if (this.#files.size > OPEN_THREADS && oldest !== undefined) this.#files.delete(oldest);
    return file;
  }

  #folder(threadId: string): string {
    return join(this.#options.path, folderName(threadId));
  }

  /** All that have a journal, in the order of their first commits. */
  async #threadIds(): Promise<{ readonly id: string; readonly born: number }[]> {
    this.#checkOpen();
    await this.#lanes.idle();
    this.#checkRoot();
    if (!existsSync(this.#options.path)) return [];
    const found: { id: string; born: number }[] = [];
    for (const name of readdirSync(this.#options.path)) {
      const id = readHeader(join(this.#options.path, name));
      // one that is damaged is reported when it is read
      if (id !== undefined && folderName(id) === name) {
        const born = await this.#read(id, (file) => file.born).catch(() => undefined);
        found.push({ id, born: born ?? Number.POSITIVE_INFINITY });
      }
    }
    return found.sort((a, b) => a.born - b.born);
  }

  #strangers(): string[] {
    const { path } = this.#options;
    if (!existsSync(path)) return [];
    return readdirSync(path)
      .filter((name) => isStranger(path, name))
      .map((name) => `${join(path, name)} is no thread's folder, or its journal has no readable header`);
  }

  /** A folder that is not there is empty, unless one only wants to look at it. */
  #checkRoot(): void {
    const { path, readOnly } = this.#options;
    if (existsSync(path)) {
      if (!statSync(path).isDirectory())
        throw new UnreadableTargetError({ target: path, reason: "it is not a folder" });
      if (this.#isOurs) return;
      const names = readdirSync(path).filter((name) => !name.startsWith("."));
      if (names.length > 0 && names.every((name) => isStranger(path, name) && !hasJournal(path, name)))
        throw new UnreadableTargetError({ target: path, reason: "it holds other files, and no thread" });
      this.#isOurs = names.length > 0;
    } else if (readOnly) throw new UnreadableTargetError({ target: path, reason: "there is no such folder" });
  }

  #checkOpen(): void {
    if (this.#closed) throw new StorageClosedError();
  }
}

/** A thread's generation stands beside what it outlives, so that deleting is one change of one file. */
function ownerOf(key: RecordKey): string {
  return key.collection === "generations" && key.thread === "" ? key.key : key.thread;
}

function stateOf(file: ThreadFile): ThreadState | undefined {
  return file.rows && { era: file.life, revision: `${file.life}.${file.rows.revision}` };
}

function isStranger(path: string, name: string): boolean {
  const folder = join(path, name);
  const id = readHeader(folder);
  return id === undefined ? !isUnborn(folder) : folderName(id) !== name;
}

/** A damaged one too. */
function hasJournal(path: string, name: string): boolean {
  return existsSync(join(path, name, "journal.jsonl"));
}

/** What a process leaves that died before its first journal was in place: nothing was acknowledged, and the next write goes on from there. */
function isUnborn(folder: string): boolean {
  return (
    statSync(folder).isDirectory() &&
    readdirSync(folder).every((name) => name === "journal.jsonl.new" || name.startsWith("lock"))
  );
}

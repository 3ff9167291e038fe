import type { Clock, RecordKey } from "@longhaul/core";
import type {
  ArtifactRow,
  ArtifactTable,
  Batch,
  CommitResult,
  HeadAddress,
  HeadQuery,
  HeadRow,
  RecordRow,
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
import { StorageClosedError } from "../errors.ts";

interface Namespace {
  readonly heads: Map<string, HeadRow>;
  readonly values: Map<string, ValueKey & { readonly data: Uint8Array }>;
  /** By checkpoint id, then by task and index. */
  readonly writes: Map<string, Map<string, WriteRow>>;
}

interface Thread {
  /** Never given twice. */
  readonly id: number;
  swept: number;
  revision: number;
  readonly namespaces: Map<string, Namespace>;
  readonly chunks: Map<string, Uint8Array>;
}

/** Everything in Maps: for tests and for runs that need not outlive the process. Needs no native code. */
export class MemoryDriver implements StorageDriver {
  readonly target: string;
  readonly survivesProcess = false;
  readonly powerLoss = "none";
  readonly leases = true;
  readonly records: RecordTable;
  readonly artifacts: ArtifactTable;
  readonly #records: MemoryRecords;
  readonly #artifacts: MemoryArtifacts;
  readonly #threads = new Map<string, Thread>();
  #lastId = 0;
  #closed = false;

  constructor({
    clock,
    target = ":memory:",
  }: { readonly clock: Pick<Clock, "now">; readonly target?: string }) {
    this.target = target;
    const open = () => this.#checkOpen();
    this.#records = new MemoryRecords(clock, open);
    this.#artifacts = new MemoryArtifacts(open);
    this.records = this.#records;
    this.artifacts = this.#artifacts;
  }

  async open(): Promise<void> {
    this.#checkOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async thread(threadId: string): Promise<ThreadState | undefined> {
    this.#checkOpen();
    const thread = this.#threads.get(threadId);
    return thread && { era: eraOf(thread), revision: revisionOf(thread) };
  }

  async commit(batch: Batch): Promise<CommitResult> {
    this.#checkOpen();
    const known = this.#threads.get(batch.threadId);
    if (batch.guard && !batch.guard.allows(copyOf(this.#records.row(batch.guard.key)?.data)))
      return { ok: false, reason: "refused" };
    if (batch.era !== undefined && (!known || eraOf(known) !== batch.era))
      return { ok: false, reason: "stale" };
    const present = known?.namespaces.get(batch.namespace)?.values;
    for (const { channel, version, data } of batch.values) {
      const stored = present?.get(idOf(channel, version))?.data;
      if (stored && !isEqual(stored, data) && !batch.isSame({ channel, version }, stored, data))
        return { ok: false, reason: "conflict", key: { channel, version } };
    }
    const thread = known ?? this.#addThread(batch.threadId);
    const namespace = namespaceOf(thread, batch.namespace);
    thread.revision += 1;
    for (const { hash, data } of batch.chunks)
      if (!thread.chunks.has(hash)) thread.chunks.set(hash, copyOf(data));
    for (const { channel, version, data } of batch.values) {
      const id = idOf(channel, version);
      if (!namespace.values.has(id)) namespace.values.set(id, { channel, version, data: copyOf(data) });
    }
    const sibling = batch.head && putHead(batch, batch.head, thread, namespace);
    if (batch.writes) putWrites(batch.writes, namespace);
    return { ok: true, era: eraOf(thread), sibling };
  }

  async sweep(sweep: Sweep): Promise<"done" | "changed"> {
    this.#checkOpen();
    const thread = this.#threads.get(sweep.threadId);
    if (!thread || revisionOf(thread) !== sweep.revision) return "changed";
    thread.revision += 1;
    thread.swept += 1;
    for (const { namespace, checkpointId } of sweep.heads) {
      const rows = thread.namespaces.get(namespace);
      rows?.heads.delete(checkpointId);
      rows?.writes.delete(checkpointId);
    }
    for (const { namespace, channel, version } of sweep.values)
      thread.namespaces.get(namespace)?.values.delete(idOf(channel, version));
    for (const hash of sweep.chunks) thread.chunks.delete(hash);
    for (const head of sweep.rewritten) {
      const heads = thread.namespaces.get(head.namespace)?.heads;
      const old = heads?.get(head.checkpointId);
      if (heads && old)
        heads.set(head.checkpointId, { ...head, sequence: old.sequence, data: copyOf(head.data) });
    }
    return "done";
  }

  async deleteThread(
    threadId: string,
    raise: (generation: Uint8Array | undefined) => Uint8Array,
  ): Promise<void> {
    this.#checkOpen();
    const key: RecordKey = { collection: "generations", thread: "", key: threadId };
    const data = copyOf(raise(copyOf(this.#records.row(key)?.data)));
    this.#records.write(key, { data, expiresAt: undefined });
    this.#threads.delete(threadId);
    this.#records.forget(threadId);
    this.#artifacts.forget(threadId);
  }

  async head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined> {
    this.#checkOpen();
    const heads = this.#threads.get(threadId)?.namespaces.get(namespace)?.heads;
    const row = checkpointId === undefined ? newestOf(heads) : heads?.get(checkpointId);
    return row && { ...row, data: copyOf(row.data) };
  }

  async *heads(query: HeadQuery): AsyncIterable<HeadRow> {
    this.#checkOpen();
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    for (const thread of this.#select(query.threadId)) {
      const rows = [...thread.namespaces]
        .filter(([name]) => query.namespace === undefined || name === query.namespace)
        .flatMap(([, { heads }]) => [...heads.values()])
        .filter(
          (row) =>
            row.sequence < (query.below ?? Number.POSITIVE_INFINITY) &&
            (query.checkpointId === undefined || row.checkpointId === query.checkpointId),
        )
        .sort((a, b) => b.sequence - a.sequence);
      for (const row of rows) {
        if (left <= 0) return;
        left -= 1;
        yield { ...row, data: copyOf(row.data) };
      }
    }
  }

  async writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]> {
    this.#checkOpen();
    const rows = this.#threads
      .get(address.threadId)
      ?.namespaces.get(address.namespace)
      ?.writes.get(address.checkpointId);
    return [...(rows?.values() ?? [])]
      .filter((row) => channels === undefined || channels.includes(row.channel))
      .map((row) => ({ ...row, data: copyOf(row.data) }));
  }

  async values(
    threadId: string,
    namespace: string,
    keys: readonly ValueKey[],
  ): Promise<(Uint8Array | undefined)[]> {
    this.#checkOpen();
    const values = this.#threads.get(threadId)?.namespaces.get(namespace)?.values;
    return keys.map(({ channel, version }) => copyOf(values?.get(idOf(channel, version))?.data));
  }

  async chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    this.#checkOpen();
    const chunks = this.#threads.get(threadId)?.chunks;
    const found = new Map<string, Uint8Array>();
    for (const hash of hashes) {
      const data = chunks?.get(hash);
      if (data) found.set(hash, copyOf(data));
    }
    return found;
  }

  async *threads(): AsyncIterable<ThreadRow> {
    this.#checkOpen();
    for (const [threadId, { namespaces }] of [...this.#threads]) {
      const heads = [...namespaces.values()].flatMap((namespace) => [...namespace.heads.values()]);
      const newest = heads.reduce<HeadRow | undefined>(newer, undefined);
      if (newest) yield { threadId, checkpoints: heads.length, latestCheckpointId: newest.checkpointId };
    }
  }

  async *rows(threadId?: string, kinds?: readonly RowKind[]): AsyncIterable<Row> {
    this.#checkOpen();
    for (const row of this.#allRows(threadId))
      if (kinds === undefined || kinds.includes(row.kind)) yield { ...row, data: copyOf(row.data) };
  }

  async check(): Promise<readonly string[]> {
    this.#checkOpen();
    return [];
  }

  *#allRows(wanted: string | undefined): Iterable<Row> {
    for (const [threadId, { namespaces, chunks }] of [...this.#threads]) {
      if (wanted !== undefined && threadId !== wanted) continue;
      for (const [namespace, { heads, values, writes }] of [...namespaces]) {
        for (const row of [...heads.values()]) yield { kind: "head", ...row };
        for (const row of [...values.values()]) yield { kind: "value", threadId, namespace, ...row };
        for (const [checkpointId, rows] of [...writes])
          for (const row of [...rows.values()])
            yield { kind: "write", threadId, namespace, checkpointId, ...row };
      }
      for (const [hash, data] of [...chunks]) yield { kind: "chunk", threadId, hash, data };
    }
    yield* this.#records.rows(wanted);
    yield* this.#artifacts.rows(wanted);
  }

  #select(threadId: string | undefined): readonly Thread[] {
    if (threadId === undefined) return [...this.#threads.values()];
    const thread = this.#threads.get(threadId);
    return thread ? [thread] : [];
  }

  #addThread(threadId: string): Thread {
    this.#lastId += 1;
    const thread = { id: this.#lastId, swept: 0, revision: 0, namespaces: new Map(), chunks: new Map() };
    this.#threads.set(threadId, thread);
    return thread;
  }

  #checkOpen(): void {
    if (this.#closed) throw new StorageClosedError();
  }
}

function putHead(
  { threadId, namespace: name }: Batch,
  head: NonNullable<Batch["head"]>,
  thread: Thread,
  { heads }: Namespace,
): string | undefined {
  const newest = newestOf(heads)?.checkpointId;
  const sequence = heads.get(head.checkpointId)?.sequence ?? thread.revision;
  heads.set(head.checkpointId, { threadId, namespace: name, ...head, sequence, data: copyOf(head.data) });
  return newest === head.parentId || newest === head.checkpointId ? undefined : newest;
}

function putWrites({ checkpointId, rows }: NonNullable<Batch["writes"]>, { writes }: Namespace): void {
  const present = writes.get(checkpointId) ?? new Map<string, WriteRow>();
  writes.set(checkpointId, present);
  for (const row of rows) {
    const id = idOf(row.taskId, String(row.index));
    if (row.index < 0 || !present.has(id)) present.set(id, { ...row, data: copyOf(row.data) });
  }
}

function namespaceOf(thread: Thread, name: string): Namespace {
  let namespace = thread.namespaces.get(name);
  if (!namespace) {
    namespace = { heads: new Map(), values: new Map(), writes: new Map() };
    thread.namespaces.set(name, namespace);
  }
  return namespace;
}

function newestOf(heads: ReadonlyMap<string, HeadRow> | undefined): HeadRow | undefined {
  return [...(heads?.values() ?? [])].reduce<HeadRow | undefined>(newer, undefined);
}

function newer(a: HeadRow | undefined, b: HeadRow): HeadRow {
  return a && a.sequence > b.sequence ? a : b;
}

function eraOf({ id, swept }: Thread): string {
  return `${id}.${swept}`;
}

function revisionOf({ id, revision }: Thread): string {
  return `${id}.${revision}`;
}

function idOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

function copyOf(data: Uint8Array): Uint8Array;
function copyOf(data: Uint8Array | undefined): Uint8Array | undefined;
function copyOf(data: Uint8Array | undefined): Uint8Array | undefined {
  return data && Uint8Array.from(data);
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

class MemoryRecords implements RecordTable {
  readonly #clock: Pick<Clock, "now">;
  readonly #open: () => void;
  readonly #rows = new Map<string, RecordRow>();
  /** One count for all records: no version comes twice, also after an expiry or a deletion. */
  #writes = 0;

  constructor(clock: Pick<Clock, "now">, open: () => void) {
    this.#clock = clock;
    this.#open = open;
  }

  /** Expired or not. */
  row(key: RecordKey): RecordRow | undefined {
    return this.#rows.get(idOf(key.collection, key.thread, key.key));
  }

  write(key: RecordKey, { data, expiresAt }: Pick<RecordRow, "data" | "expiresAt">): number {
    const version = ++this.#writes;
    const row = { key: { ...key }, version, expiresAt, data: copyOf(data) };
    this.#rows.set(idOf(key.collection, key.thread, key.key), row);
    return version;
  }

  /** Leases stay: their tokens must not repeat. */
  forget(thread: string): void {
    for (const [id, { key }] of this.#rows)
      if (key.thread === thread && key.collection !== "leases") this.#rows.delete(id);
  }

  rows(thread: string | undefined): Row[] {
    return [...this.#rows.values()]
      .filter(({ key }) => thread === undefined || key.thread === thread)
      .map((row) => ({ kind: "record", ...row }));
  }

  async get(key: RecordKey): Promise<RecordRow | undefined> {
    this.#open();
    return outOf(this.#live(key));
  }

  async compareAndSet(
    key: RecordKey,
    expected: number | null,
    row: Pick<RecordRow, "data" | "expiresAt">,
  ): ReturnType<RecordTable["compareAndSet"]> {
    this.#open();
    const current = this.#live(key);
    if ((current?.version ?? null) !== expected) return { ok: false, current: outOf(current) };
    return { ok: true, version: this.write(key, row) };
  }

  async delete(key: RecordKey, expected?: number): Promise<boolean> {
    this.#open();
    const current = this.#live(key);
    if (!current || (expected !== undefined && current.version !== expected)) return false;
    return this.#rows.delete(idOf(key.collection, key.thread, key.key));
  }

  async *list(collection: string, thread: string, prefix: string): AsyncIterable<RecordRow> {
    this.#open();
    const keys = [...this.#rows.values()]
      .map((row) => row.key)
      .filter((key) => key.collection === collection && key.thread === thread && key.key.startsWith(prefix))
      .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
    for (const key of keys) {
      const row = outOf(this.#live(key));
      if (row) yield row;
    }
  }

  async purge(thread: string): Promise<number> {
    this.#open();
    let purged = 0;
    for (const [id, row] of this.#rows) {
      if (row.key.thread !== thread || this.#isLive(row)) continue;
      this.#rows.delete(id);
      purged += 1;
    }
    return purged;
  }

  #live(key: RecordKey): RecordRow | undefined {
    const row = this.row(key);
    return row && this.#isLive(row) ? row : undefined;
  }

  #isLive(row: RecordRow): boolean {
    return row.expiresAt === undefined || row.expiresAt > this.#clock.now();
  }
}

function outOf(row: RecordRow | undefined): RecordRow | undefined {
  return row && { ...row, key: { ...row.key }, data: copyOf(row.data) };
}

class MemoryArtifacts implements ArtifactTable {
  readonly #open: () => void;
  readonly #threads = new Map<string, Map<string, ArtifactRow>>();

  constructor(open: () => void) {
    this.#open = open;
  }

  forget(threadId: string): void {
    this.#threads.delete(threadId);
  }

  rows(wanted: string | undefined): Row[] {
    return [...this.#threads]
      .filter(([threadId]) => wanted === undefined || threadId === wanted)
      .flatMap(([threadId, rows]) =>
        [...rows.values()].map((row) => ({
          kind: "artifact" as const,
          threadId,
          ...row,
          meta: copyOf(row.meta),
        })),
      );
  }

  async put(threadId: string, row: ArtifactRow): Promise<boolean> {
    this.#open();
    const rows = this.#threads.get(threadId) ?? new Map<string, ArtifactRow>();
    this.#threads.set(threadId, rows);
    if (rows.has(row.ref)) return false;
    rows.set(row.ref, { ...row, meta: copyOf(row.meta), data: copyOf(row.data) });
    return true;
  }

  async get(threadId: string, ref: string): Promise<ArtifactRow | undefined> {
    this.#open();
    const row = this.#threads.get(threadId)?.get(ref);
    return row && { ...row, meta: copyOf(row.meta), data: copyOf(row.data) };
  }

  async *list(threadId: string): AsyncIterable<Omit<ArtifactRow, "data">> {
    this.#open();
    for (const { ref, chars, meta } of [...(this.#threads.get(threadId)?.values() ?? [])])
      yield { ref, chars, meta: copyOf(meta) };
  }
}

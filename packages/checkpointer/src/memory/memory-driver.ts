import type { Clock } from "@longhaul/core";
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
import { StorageClosedError } from "../errors.ts";
import { copyOf } from "./bytes.ts";
import { artifactTable, MemoryArtifacts } from "./memory-artifacts.ts";
import { MemoryRecords, recordTable } from "./memory-records.ts";
import { MemoryThread } from "./memory-thread.ts";

/** Everything in Maps: for tests and for runs that need not outlive the process. Needs no native code. */
export class MemoryDriver implements StorageDriver {
  readonly target: string;
  readonly survivesProcess = false;
  readonly powerLoss = "none";
  readonly leases = true;
  readonly records: RecordTable;
  readonly artifacts: ArtifactTable;
  readonly #records: MemoryRecords;
  readonly #artifacts = new MemoryArtifacts();
  readonly #threads = new Map<string, { readonly life: number; readonly rows: MemoryThread }>();
  #lives = 0;
  #closed = false;

  constructor({
    clock,
    target = ":memory:",
  }: { readonly clock: Pick<Clock, "now">; readonly target?: string }) {
    this.target = target;
    const open = () => this.#checkOpen();
    this.#records = new MemoryRecords(clock);
    this.records = recordTable(this.#records, open);
    this.artifacts = artifactTable(this.#artifacts, open);
  }

  async open(): Promise<void> {
    this.#checkOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async thread(threadId: string): Promise<ThreadState | undefined> {
    return this.#state(threadId);
  }

  async commit(batch: Batch): Promise<CommitResult> {
    const { threadId, era, guard } = batch;
    const known = this.#state(threadId)?.era;
    if (guard && !guard.allows(this.#records.row(guard.key)?.data)) return { ok: false, reason: "refused" };
    if (era !== undefined && known !== era) return { ok: false, reason: "stale" };
    const refusal = this.#rows(threadId)?.refusal(batch);
    if (refusal) return refusal;
    let thread = this.#threads.get(threadId);
    if (!thread) {
      this.#lives += 1;
      thread = { life: this.#lives, rows: new MemoryThread(threadId) };
      this.#threads.set(threadId, thread);
    }
    const sibling = thread.rows.apply(batch);
    return { ok: true, era: this.#state(threadId)?.era ?? "", sibling };
  }

  async sweep(sweep: Sweep): Promise<"done" | "changed"> {
    if (this.#state(sweep.threadId)?.revision !== sweep.revision) return "changed";
    this.#rows(sweep.threadId)?.sweep(sweep);
    return "done";
  }

  async deleteThread(
    threadId: string,
    raise: (generation: Uint8Array | undefined) => Uint8Array,
  ): Promise<void> {
    this.#checkOpen();
    const key = { collection: "generations", thread: "", key: threadId };
    const data = raise(this.#records.row(key)?.data);
    this.#records.set(key, this.#records.nextVersion(key), { data, expiresAt: undefined });
    this.#threads.delete(threadId);
    this.#records.forgetThread(threadId);
    this.#artifacts.forgetThread(threadId);
  }

  async head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined> {
    return this.#rows(threadId)?.head(namespace, checkpointId);
  }

  async *heads(query: HeadQuery): AsyncIterable<HeadRow> {
    this.#checkOpen();
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    const ids = query.threadId === undefined ? [...this.#threads.keys()] : [query.threadId];
    for (const id of ids) {
      for (const row of this.#rows(id)?.heads(query) ?? []) {
        if (left <= 0) return;
        left -= 1;
        yield { ...row, data: copyOf(row.data) };
      }
    }
  }

  async writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]> {
    return this.#rows(address.threadId)?.writes(address, channels) ?? [];
  }

  async values(
    threadId: string,
    namespace: string,
    keys: readonly ValueKey[],
  ): Promise<(Uint8Array | undefined)[]> {
    return this.#rows(threadId)?.values(namespace, keys) ?? keys.map(() => undefined);
  }

  async chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    return this.#rows(threadId)?.chunks(hashes) ?? new Map();
  }

  async *threads(): AsyncIterable<ThreadRow> {
    this.#checkOpen();
    for (const { rows } of [...this.#threads.values()]) {
      const summary = rows.summary();
      if (summary) yield summary;
    }
  }

  async *rows(threadId?: string, kinds?: readonly RowKind[]): AsyncIterable<Row> {
    this.#checkOpen();
    const threads = threadId === undefined ? [...this.#threads.keys()] : [threadId];
    const rows = [
      ...threads.flatMap((id) => this.#rows(id)?.rows() ?? []),
      ...this.#records.rows(threadId),
      ...this.#artifacts.rows(threadId),
    ];
    for (const row of rows)
      if (kinds === undefined || kinds.includes(row.kind)) yield { ...row, data: copyOf(row.data) };
  }

  async check(): Promise<readonly string[]> {
    this.#checkOpen();
    return [];
  }

  #rows(threadId: string): MemoryThread | undefined {
    this.#checkOpen();
    return this.#threads.get(threadId)?.rows;
  }

  #state(threadId: string): ThreadState | undefined {
    this.#checkOpen();
    const thread = this.#threads.get(threadId);
    if (!thread) return undefined;
    const { life, rows } = thread;
    return { era: `${life}.${rows.swept}`, revision: `${life}.${rows.revision}` };
  }

  #checkOpen(): void {
    if (this.#closed) throw new StorageClosedError();
  }
}

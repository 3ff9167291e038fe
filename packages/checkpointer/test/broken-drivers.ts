import { toArray } from "../src/conformance/runner.ts";
import type { Batch, CommitResult, HeadRow, StorageDriver, Sweep, WriteRow } from "../src/driver/driver.ts";

/** What a faulty driver does otherwise than the good one. */
export type Fault = (good: StorageDriver) => Partial<StorageDriver>;

/** The good driver with some calls replaced. */
export function withFault(good: StorageDriver, fault: Fault): StorageDriver {
  return {
    target: good.target,
    survivesProcess: good.survivesProcess,
    powerLoss: good.powerLoss,
    leases: good.leases,
    records: good.records,
    artifacts: good.artifacts,
    open: () => good.open(),
    close: () => good.close(),
    thread: (id) => good.thread(id),
    commit: (batch) => good.commit(batch),
    sweep: (sweep) => good.sweep(sweep),
    deleteThread: (id, raise) => good.deleteThread(id, raise),
    head: (...address) => good.head(...address),
    heads: (query) => good.heads(query),
    writes: (...address) => good.writes(...address),
    values: (...keys) => good.values(...keys),
    chunks: (...hashes) => good.chunks(...hashes),
    threads: () => good.threads(),
    rows: (...selection) => good.rows(...selection),
    check: (id) => good.check(id),
    ...fault(good),
  };
}

/** Another commit. */
export function committing(
  commit: (good: StorageDriver, batch: Batch) => CommitResult | Promise<CommitResult>,
): Fault {
  return (good) => ({ commit: async (batch) => commit(good, batch) });
}

/** A sweep of other lists. */
export function sweeping(change: (sweep: Sweep) => Partial<Sweep>): Fault {
  return (good) => ({ sweep: (sweep) => good.sweep({ ...sweep, ...change(sweep) }) });
}

/** Every address goes through `rename` before it is stored, as where names of files or columns are narrower; what is read has the name asked for. */
export function renaming(rename: (name: string) => string): Fault {
  return (good) => ({
    commit: (batch) => good.commit({ ...batch, threadId: rename(batch.threadId) }),
    head: async (threadId, ...rest) => {
      const row = await good.head(rename(threadId), ...rest);
      return row && { ...row, threadId };
    },
    values: (threadId, ...rest) => good.values(rename(threadId), ...rest),
    writes: (address, ...rest) => good.writes({ ...address, threadId: rename(address.threadId) }, ...rest),
    deleteThread: (threadId, raise) => good.deleteThread(rename(threadId), raise),
  });
}

/** Other rows from one of the calls that give many. */
export async function* changed<T, R>(
  items: AsyncIterable<T>,
  change: (items: T[]) => readonly R[],
): AsyncIterable<R> {
  yield* change(await toArray(items));
}

/** Heads in another order or choice; the newest is the first of them. */
export function ordering(compare: (a: HeadRow, b: HeadRow) => number): Fault {
  return (good) => ({
    heads: (query) => changed(good.heads(query), (rows) => rows.sort(compare)),
    head: async (threadId, namespace, checkpointId) => {
      if (checkpointId !== undefined) return good.head(threadId, namespace, checkpointId);
      return (await toArray(good.heads({ threadId, namespace }))).sort(compare)[0];
    },
  });
}

export function writeId(row: Pick<WriteRow, "taskId" | "index">): string {
  return JSON.stringify([row.taskId, row.index]);
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

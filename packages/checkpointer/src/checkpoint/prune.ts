import { type RunStatus, readBudgetMirror, readMemoryState, readRunState } from "@longhaul/core";
import type { StorageDriver, Sweep } from "../driver/driver.ts";
import { place } from "../encoding/place.ts";
import { DamagedRecordError, StorageBusyError } from "../errors.ts";
import type { Codec } from "./codec.ts";
import type { Head } from "./head.ts";
import type { Marks } from "./marks.ts";
import type { Reader } from "./reader.ts";
import { keptHeads, policyFor, type Retention, type RetentionPolicy } from "./retention.ts";
import { headId, type IndexedHead, indexThread, type ThreadIndex, valueKeyOf } from "./thread-index.ts";

export interface PruneOptions {
  /** Changes nothing; the report says what would go. @default false */
  readonly dryRun?: boolean | undefined;
}

export interface PruneReport {
  readonly threadId: string;
  readonly dryRun: boolean;
  readonly kept: number;
  /** What went, or would go. */
  readonly removed: readonly { readonly namespace: string; readonly checkpointId: string }[];
  readonly removedValues: number;
  readonly removedChunks: number;
  /** Ledger records whose time was over. */
  readonly removedRecords: number;
}

/** A run writes while its thread is pruned: the lists are made anew, so often. */
const TRIES = 8;

export interface PruneParts {
  readonly driver: StorageDriver;
  readonly codec: Codec;
  readonly reader: Reader;
  readonly marks: Marks;
  readonly now: () => number;
}

/**
 * Deletes by reachability: what stays is complete, and reads as before. One read of every row of the thread, then one transaction.
 *
 * @throws StorageBusyError when a run kept writing in between; nothing was deleted
 */
export async function pruneThread(
  parts: PruneParts,
  threadId: string,
  retention: Retention,
  { dryRun = false }: PruneOptions = {},
): Promise<PruneReport> {
  const { driver, codec, now } = parts;
  const start = now();
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const index = await indexThread(driver, codec, threadId);
    const none = {
      threadId,
      dryRun,
      kept: index?.heads.size ?? 0,
      removed: [],
      removedValues: 0,
      removedChunks: 0,
    };
    if (!index) return { ...none, removedRecords: 0 };
    let policy: RetentionPolicy | undefined;
    let milestones = new Set<string>();
    try {
      policy = policyFor(retention, await statusOf(parts, index));
      if (policy && policy.milestones !== false) milestones = await milestonesOf(parts, index);
    } catch (error) {
      // another prune took what this one was about to read
      if (
        DamagedRecordError.isInstance(error) &&
        (await driver.thread(threadId))?.revision !== index.revision
      )
        continue;
      throw error;
    }
    if (!policy) return { ...none, removedRecords: 0 };
    const kept = keptHeads(index, policy, { now: now(), milestones });
    const sweep = sweepOf(index, kept, codec);
    const report = {
      threadId,
      dryRun,
      kept: kept.size,
      removed: sweep.heads
        .filter(({ namespace, checkpointId }) => index.heads.has(headId(namespace, checkpointId)))
        .map(({ namespace, checkpointId }) => ({ namespace, checkpointId })),
      removedValues: sweep.values.length,
      removedChunks: sweep.chunks.length,
    };
    if (dryRun) return { ...report, removedRecords: 0 };
    const isEmpty =
      sweep.heads.length + sweep.values.length + sweep.chunks.length + sweep.rewritten.length === 0;
    if (!isEmpty && (await driver.sweep(sweep)) === "changed") continue;
    if (!isEmpty) codec.forget(threadId);
    return { ...report, removedRecords: await driver.records.purge(threadId) };
  }
  throw new StorageBusyError({ target: driver.target, waitedMs: now() - start });
}

function sweepOf(index: ThreadIndex, kept: ReadonlySet<string>, codec: Codec): Sweep {
  const { threadId, revision } = index;
  const gone = [...index.heads.values()].filter(
    ({ row }) => !kept.has(headId(row.namespace, row.checkpointId)),
  );
  const keptRows = [...index.heads.values()].filter(({ row }) =>
    kept.has(headId(row.namespace, row.checkpointId)),
  );
  const values = new Set(
    keptRows.flatMap(({ row, head }) =>
      head.values.map((channel) => valueKeyOf(row.namespace, channel, String(head.versions[channel]))),
    ),
  );
  // writes of a checkpoint that is not there yet may be those of a step under way: they stay
  const writes = [...index.writes].filter(([id]) => kept.has(id) || !index.heads.has(id)).map(([, of]) => of);
  const reachable = new Set<string>();
  const open = [
    ...[...index.values].filter(([key]) => values.has(key)).flatMap(([, { references }]) => references),
    ...writes.flatMap(({ references }) => references),
  ];
  for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
    if (reachable.has(hash)) continue;
    reachable.add(hash);
    open.push(...(index.chunks.get(hash) ?? []));
  }
  return {
    threadId,
    revision,
    heads: gone.map(({ row: { namespace, checkpointId } }) => ({ threadId, namespace, checkpointId })),
    values: [...index.values]
      .filter(([key]) => !values.has(key))
      .map(([, { namespace, channel, version }]) => ({ namespace, channel, version })),
    chunks: [...index.chunks.keys()].filter((hash) => !reachable.has(hash)),
    rewritten: keptRows.flatMap((head) => relinked(head, kept, index, codec)),
  };
}

/** A checkpoint whose parent goes gets the nearest ancestor that stays. The parent is part of the place to which a row is sealed. */
function relinked(
  { row }: IndexedHead,
  kept: ReadonlySet<string>,
  index: ThreadIndex,
  codec: Codec,
): Sweep["rewritten"] {
  let { parentId } = row;
  for (
    let id = idOf(row, parentId);
    id !== undefined && index.heads.has(id) && !kept.has(id);
    id = idOf(row, parentId)
  )
    parentId = index.heads.get(id)?.row.parentId;
  if (parentId === row.parentId) return [];
  const text = codec.unseal(row.data, place.head(row, row.parentId));
  const { threadId, namespace, checkpointId } = row;
  return [{ threadId, namespace, checkpointId, parentId, data: codec.seal(text, place.head(row, parentId)) }];
}

function idOf({ namespace }: IndexedHead["row"], checkpointId: string | undefined): string | undefined {
  return checkpointId === undefined ? undefined : headId(namespace, checkpointId);
}

async function statusOf({ reader }: PruneParts, index: ThreadIndex): Promise<RunStatus | undefined> {
  const newest = [...index.heads.values()].filter(({ row }) => row.namespace === "").at(-1);
  if (!newest?.head.values.includes("_longhaulRun")) return undefined;
  const { _longhaulRun: run } = await reader.values(newest.row, newest.head, ["_longhaulRun"]);
  return readRunState(run).status;
}

/** Checkpoints at which a fold, a reset or a phase was done, and marked ones. */
async function milestonesOf({ reader, marks }: PruneParts, index: ThreadIndex): Promise<Set<string>> {
  const found = new Set<string>();
  for (const mark of await marks.of(index.threadId)) found.add(headId(mark.namespace, mark.checkpointId));
  const seen = new Map<string, string>();
  const stateOf = async (at: IndexedHead | undefined, channel: Milestone): Promise<string> => {
    if (!at?.head.values.includes(channel)) return decisiveOf(channel, undefined);
    const { row, head } = at;
    const key = valueKeyOf(row.namespace, channel, String(head.versions[channel]));
    let state = seen.get(key);
    if (state === undefined) {
      state = decisiveOf(channel, (await reader.values(row, head, [channel]))[channel]);
      seen.set(key, state);
    }
    return state;
  };
  for (const [id, at] of index.heads) {
    // an earlier prune has linked it to the nearest ancestor that stayed
    const parent = index.heads.get(idOf(at.row, at.row.parentId) ?? "");
    for (const channel of MILESTONES)
      if (
        isChanged(at.head, parent?.head, channel) &&
        (await stateOf(at, channel)) !== (await stateOf(parent, channel))
      )
        found.add(id);
  }
  return found;
}

const MILESTONES = ["_longhaulMemory", "_longhaulBudget"] as const;
type Milestone = (typeof MILESTONES)[number];

function isChanged(head: Head, parent: Head | undefined, channel: string): boolean {
  return head.versions[channel] !== parent?.versions[channel];
}

/** The part of a channel whose change is a milestone. */
function decisiveOf(channel: Milestone, value: unknown): string {
  if (channel === "_longhaulBudget") return readBudgetMirror(value)?.phase ?? "";
  const { epoch, cutoff } = readMemoryState(value);
  return JSON.stringify([epoch, cutoff ?? null]);
}

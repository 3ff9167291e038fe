import { InvalidOptionsError, type RunStatus } from "@longhaul/core";
import { headId, type IndexedHead, type ThreadIndex } from "./thread-index.ts";

/**
 * Which checkpoints of a namespace to keep. One is kept when any rule keeps it, when it is the newest of its namespace or the end of a fork,
 * or when something that is kept needs it: as the base of a delta channel, or as the parent run of a subgraph.
 */
export interface RetentionPolicy {
  /** The newest so many, at least 1. @default none but the newest */
  readonly keepLast?: number | undefined;
  /** Those not older than this, in milliseconds, more than 0. @default no age */
  readonly maxAgeMs?: number | undefined;
  /** Folds, resets, ends of phases and what `mark` named. @default true */
  readonly milestones?: boolean | undefined;
}

/**
 * - `"all"`: nothing goes. De-duplicated history is cheap, and time travel stays.
 * - `"recommended"`: while the run goes on the 10 newest and the milestones; when it is done the final one and the milestones; when it has failed for
 *   good the last one.
 */
export type Retention = "all" | "recommended" | RetentionPolicy;

const RUNNING: RetentionPolicy = { keepLast: 10, milestones: true };
const DONE: RetentionPolicy = { keepLast: 1, milestones: true };
const FAILED: RetentionPolicy = { keepLast: 1, milestones: false };

/** @throws InvalidOptionsError before anything is deleted */
export function checkRetention(option: string, retention: unknown): asserts retention is Retention {
  if (retention === "all" || retention === "recommended") return;
  const expected = '"all", "recommended" or { keepLast, maxAgeMs, milestones }';
  if (typeof retention !== "object" || retention === null || Array.isArray(retention))
    throw new InvalidOptionsError({ option, value: retention, expected });
  const { keepLast, maxAgeMs, milestones, ...unknown } = retention as Record<string, unknown>;
  const [stranger] = Object.keys(unknown);
  if (stranger !== undefined)
    throw new InvalidOptionsError({ option: `${option}.${stranger}`, value: unknown[stranger], expected });
  if (keepLast !== undefined && !(Number.isSafeInteger(keepLast) && (keepLast as number) >= 1))
    throw new InvalidOptionsError({
      option: `${option}.keepLast`,
      value: keepLast,
      expected: "a whole number, at least 1",
    });
  if (maxAgeMs !== undefined && !(Number.isFinite(maxAgeMs) && (maxAgeMs as number) > 0))
    throw new InvalidOptionsError({
      option: `${option}.maxAgeMs`,
      value: maxAgeMs,
      expected: "milliseconds, more than 0",
    });
  if (milestones !== undefined && typeof milestones !== "boolean")
    throw new InvalidOptionsError({
      option: `${option}.milestones`,
      value: milestones,
      expected: "true or false",
    });
  if (keepLast === undefined && maxAgeMs === undefined)
    throw new InvalidOptionsError({ option, value: retention, expected: "keepLast, maxAgeMs or both" });
}

/** What a retention means for a run of this status; undefined: nothing goes. */
export function policyFor(retention: Retention, status: RunStatus | undefined): RetentionPolicy | undefined {
  if (retention === "all") return undefined;
  if (retention !== "recommended") return retention;
  if (status === "COMPLETED") return DONE;
  return status === "FAILED" ? FAILED : RUNNING;
}

/** Ids of the checkpoints that stay. Pure. */
export function keptHeads(
  index: ThreadIndex,
  policy: RetentionPolicy,
  { now, milestones }: { readonly now: number; readonly milestones: ReadonlySet<string> },
): Set<string> {
  const kept = new Set<string>();
  const byNamespace = new Map<string, IndexedHead[]>();
  for (const head of index.heads.values()) {
    const { namespace } = head.row;
    byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), head]);
  }
  // a parent graph before its subgraphs
  const names = [...byNamespace.keys()].sort((a, b) => depthOf(a) - depthOf(b));
  for (const name of names) {
    const heads = byNamespace.get(name) ?? [];
    const live = heads.filter((head) => isLive(head, kept, index));
    // a subgraph that keeps a memory of its own between calls goes on from its newest
    const newest = heads.at(-1);
    const candidates = live.length > 0 || !newest || isOfOneCall(name) ? live : [newest];
    const withChildren = new Set(candidates.map(({ row }) => row.parentId));
    candidates.forEach((head, i) => {
      const id = headId(name, head.row.checkpointId);
      const isLeaf = !withChildren.has(head.row.checkpointId);
      const isRecent = i >= candidates.length - (policy.keepLast ?? 1);
      const isYoung = policy.maxAgeMs !== undefined && now - Date.parse(head.head.ts) <= policy.maxAgeMs;
      const isMilestone = policy.milestones !== false && milestones.has(id);
      if (isLeaf || isRecent || isYoung || isMilestone) kept.add(id);
    });
    for (const head of candidates)
      if (kept.has(headId(name, head.row.checkpointId)))
        for (const base of basesOf(head, index)) kept.add(base);
  }
  return kept;
}

/** Whether the checkpoints of the parent graphs under which it was made stay. */
function isLive({ row, head }: IndexedHead, kept: ReadonlySet<string>, index: ThreadIndex): boolean {
  if (row.namespace === "") return true;
  const parents = Object.entries((head.meta.parents ?? {}) as Record<string, unknown>);
  return parents.every(([namespace, id]) => {
    if (namespace === row.namespace || typeof id !== "string") return true;
    const parent = headId(namespace, id);
    return kept.has(parent) || !index.heads.has(parent);
  });
}

/** Ancestors from which a delta channel's value is put together: back to the nearest that has the value. */
function basesOf(head: IndexedHead, index: ThreadIndex): string[] {
  const needed = new Set<string>();
  // checkpoints of versions before 4 keep their sends in the parent's writes
  if (head.head.v < 4 && head.row.parentId !== undefined)
    needed.add(headId(head.row.namespace, head.row.parentId));
  const counters = (head.head.meta as { counters_since_delta_snapshot?: object })
    .counters_since_delta_snapshot;
  const stored = new Set(head.head.values);
  for (const channel of Object.keys(head.head.versions)) {
    if (stored.has(channel)) continue;
    const path: string[] = [];
    let isWritten = false;
    let hasBase = false;
    for (let at = parentOf(head, index); at && !hasBase; at = parentOf(at, index)) {
      path.push(headId(at.row.namespace, at.row.checkpointId));
      isWritten ||= at.written.has(channel);
      hasBase = at.head.values.includes(channel);
    }
    // the graph counts how long ago it last stored a delta channel whole: nobody may have written it since
    const isCounted = Object.hasOwn(counters ?? {}, channel);
    const isDelta = hasBase ? isWritten || isCounted : isWritten && isCounted;
    if (isDelta) for (const id of path) needed.add(id);
  }
  return [...needed];
}

function parentOf({ row }: IndexedHead, index: ThreadIndex): IndexedHead | undefined {
  return row.parentId === undefined ? undefined : index.heads.get(headId(row.namespace, row.parentId));
}

function depthOf(namespace: string): number {
  return namespace === "" ? 0 : namespace.split("|").length;
}

/** `node:task`, or `node:task|1` for a second one in it, is the namespace of one call; `node` and `node|1` last. */
function isOfOneCall(namespace: string): boolean {
  return namespace.includes(":");
}

import { toArray } from "../src/conformance/runner.ts";
import type { HeadRow, Row, StorageDriver, WriteRow } from "../src/driver/driver.ts";
import {
  changed,
  committing,
  compareTexts,
  type Fault,
  ordering,
  renaming,
  sweeping,
  writeId,
} from "./broken-drivers.ts";

/** Mistakes with checkpoints, and the title of a test that must find each. */
export const BROKEN_CHECKPOINTS: readonly (readonly [mistake: string, fault: Fault, caughtBy: string])[] = [
  ["commits overtake each other", overtaking, "calls take effect in the order"],
  [
    "the newest is the one with the greatest id",
    ordering(byId),
    "the newest is the one that was committed last",
  ],
  ["a head that is put again becomes the newest", reputMoves, "a head that is put again"],
  ["a head that is put again stays as it was", reputIgnored, "a head that is put again"],
  ["forks are not named", renamed(() => undefined), "a second child of one parent"],
  [
    "a head put again is a fork of itself",
    renamed((sibling, id) => sibling ?? id),
    "a second child of one parent",
  ],
  ["every write replaces", writesReplace, "ordinary writes are write-once"],
  ["no write replaces", specialWritesStay, "ordinary writes are write-once"],
  [
    "writes of every channel",
    (good) => ({ writes: (address) => good.writes(address) }),
    "ordinary writes are",
  ],
  [
    "conflicts pass",
    committing((good, batch) => good.commit({ ...batch, isSame: () => true })),
    "a value that exists is kept",
  ],
  [
    "what differs in bytes is a conflict unasked",
    committing((good, batch) => good.commit({ ...batch, isSame: () => false })),
    "a value that exists is kept",
  ],
  ["a conflict keeps back the values only", conflictWritesRest, "a value that exists is kept"],
  ["a conflict leaves its chunks", conflictWrites("chunks"), "a conflict writes no part"],
  ["a conflict leaves its pending writes", conflictWrites("writes"), "a conflict writes no part"],
  ["a commit begins before its callbacks are done", callbackLate, "what a callback throws"],
  ["a deletion begins before its callback is done", deletesFirst, "what a callback throws"],
  [
    "the era is not looked at",
    committing((good, batch) => good.commit({ ...batch, era: undefined })),
    "a commit of another era",
  ],
  ["eras come back after a deletion", erasComeBack, "a commit of another era"],
  [
    "the guard is not asked",
    committing((good, { guard: _, ...batch }) => good.commit(batch)),
    "a guard sees the record",
  ],
  ["the guard does not see an expired record", guardSeesLive, "a guard sees the record"],
  ["every commit changes the era", eraIsRevision, "a commit of another era"],
  ["the revision is the era", revisions((_, era) => era), "revisions change with every commit"],
  [
    "revisions begin again after a deletion",
    revisions((revision) => revision.split(".")[1] ?? ""),
    "revisions change",
  ],
  ["a chunk that exists is replaced", chunksReplace, "a chunk that exists is kept"],
  ["an absent chunk is empty", emptyChunks, "a commit stores head"],
  ["only the values that are there", valuesThere, "values come in the order asked for"],
  ["values in the order of storing", valuesSorted, "values come in the order asked for"],
  [
    "the limit is not kept",
    (good) => ({ heads: ({ limit: _, ...query }) => good.heads(query) }),
    "heads by thread",
  ],
  [
    "the bound is included",
    (good) => ({
      heads: (query) => good.heads(query.below === undefined ? query : { ...query, below: query.below + 1 }),
    }),
    "heads by thread",
  ],
  [
    "heads of every namespace",
    (good) => ({ heads: ({ namespace: _, ...query }) => good.heads(query) }),
    "heads by thread",
  ],
  [
    "no more heads than a page has",
    (good) => ({ heads: (query) => good.heads({ ...query, limit: Math.min(query.limit ?? 100, 100) }) }),
    "heads by thread",
  ],
  [
    "threads by name",
    (good) => ({
      threads: () =>
        changed(good.threads(), (rows) => rows.sort((a, b) => compareTexts(a.threadId, b.threadId))),
    }),
    "threads in the order",
  ],
  ["the latest checkpoint is the one with the greatest id", latestById, "threads in the order"],
  ["no more rows than a page has", selecting((rows) => rows.slice(0, 200)), "rows gives every row"],
  [
    "a row at the edge of a page comes twice",
    selecting((rows) => rows.flatMap((row, i) => (i === 99 ? [row, row] : [row]))),
    "rows gives every row",
  ],
  [
    "artifacts are not among the rows",
    selecting((rows) => rows.filter((row) => row.kind !== "artifact")),
    "rows gives every row",
  ],
  ["rows of every kind", (good) => ({ rows: (threadId) => good.rows(threadId) }), "rows gives every row"],
  ["rows of threads with checkpoints only", rowsOfCheckpoints, "rows of all includes threads"],
  ["case does not count", renaming((name) => name.toLowerCase()), "addresses of any shape"],
  ["names are normalised", renaming((name) => name.normalize("NFC")), "addresses of any shape"],
  ["names are trimmed", renaming((name) => name.trim()), "addresses of any shape"],
  ["names are cut", renaming((name) => name.slice(0, 255)), "addresses of any shape"],
  ["names are cut far out", renaming((name) => name.slice(0, 4_000)), "addresses of any shape"],
  ["slashes are replaced", renaming((name) => name.replaceAll("\\", "/")), "addresses of any shape"],
  [
    "bytes are stored as text",
    committing((good, batch) =>
      good.commit(batch.head ? { ...batch, head: { ...batch.head, data: asText(batch.head.data) } } : batch),
    ),
    "blobs of any bytes",
  ],
  [
    "large blobs are cut",
    committing((good, batch) =>
      good.commit({
        ...batch,
        chunks: batch.chunks.map((chunk) => ({ ...chunk, data: chunk.data.subarray(0, 2 ** 20) })),
      }),
    ),
    "blobs of any bytes",
  ],
  ["a sweep leaves the writes", sweepLeavesWrites, "a sweep removes what it lists"],
  [
    "a sweep skips what has no head",
    sweeping(({ heads }) => ({ heads: heads.filter((head) => head.checkpointId !== "gone") })),
    "a sweep removes",
  ],
  ["a sweep leaves the values", sweeping(() => ({ values: [] })), "a sweep removes"],
  ["a sweep leaves the chunks", sweeping(() => ({ chunks: [] })), "a sweep removes"],
  ["a sweep does not rewrite", sweeping(() => ({ rewritten: [] })), "a sweep removes"],
  ["a sweep keeps the era", sweepKeepsEra, "a sweep removes"],
  ["a sweep of any revision", sweepAnyRevision, "a sweep of another revision"],
  ["a sweep that refuses removes chunks", sweepRefusesLate, "a sweep of another revision"],
  ["threads that were swept empty stay listed", threadsRemembered, "a sweep of the newest"],
  ["after a sweep the newest is gone", newestRemembered, "a sweep of the newest"],
];

function byId(a: HeadRow, b: HeadRow): number {
  return compareTexts(b.checkpointId, a.checkpointId);
}

function overtaking(good: StorageDriver): Partial<StorageDriver> {
  let calls = 0;
  return {
    async commit(batch) {
      calls += 1;
      if (calls % 2 === 1) for (let i = 0; i < 5; i++) await undefined;
      return good.commit(batch);
    },
  };
}

function reputMoves(good: StorageDriver): Partial<StorageDriver> {
  let last: string | undefined;
  const faulty = ordering(
    (a, b) => Number(b.checkpointId === last) - Number(a.checkpointId === last) || b.sequence - a.sequence,
  )(good);
  return {
    ...faulty,
    commit(batch) {
      last = batch.head?.checkpointId ?? last;
      return good.commit(batch);
    },
  };
}

function reputIgnored(good: StorageDriver): Partial<StorageDriver> {
  return {
    async commit({ head, ...batch }) {
      const there = head && (await good.head(batch.threadId, batch.namespace, head.checkpointId));
      return good.commit(head && !there ? { ...batch, head } : batch);
    },
  };
}

function renamed(rename: (sibling: string | undefined, id: string | undefined) => string | undefined): Fault {
  return committing(async (good, batch) => {
    const { threadId, namespace, head } = batch;
    const there = head && (await good.head(threadId, namespace, head.checkpointId));
    const result = await good.commit(batch);
    return result.ok ? { ...result, sibling: rename(result.sibling, there?.checkpointId) } : result;
  });
}

function writesReplace(good: StorageDriver): Partial<StorageDriver> {
  const last = new Map<string, WriteRow>();
  return {
    commit(batch) {
      for (const row of batch.writes?.rows ?? []) last.set(writeId(row), row);
      return good.commit(batch);
    },
    async writes(...address) {
      return (await good.writes(...address)).map((row) => last.get(writeId(row)) ?? row);
    },
  };
}

function specialWritesStay(good: StorageDriver): Partial<StorageDriver> {
  return {
    async commit(batch) {
      if (!batch.writes) return good.commit(batch);
      const { checkpointId, rows } = batch.writes;
      const { threadId, namespace } = batch;
      const there = (await good.writes({ threadId, namespace, checkpointId })).map(writeId);
      return good.commit({
        ...batch,
        writes: { checkpointId, rows: rows.filter((row) => !there.includes(writeId(row))) },
      });
    },
  };
}

function conflictWritesRest(driver: StorageDriver): Partial<StorageDriver> {
  return committing(async (good, batch) => {
    const result = await good.commit(batch);
    if (!result.ok && result.reason === "conflict") await good.commit({ ...batch, values: [] });
    return result;
  })(driver);
}

function conflictWrites(part: "chunks" | "writes"): Fault {
  return committing(async (good, batch) => {
    const result = await good.commit(batch);
    if (!result.ok && result.reason === "conflict") {
      const { head: _, guard: __, writes, chunks, ...rest } = batch;
      const left = part === "chunks" ? { chunks } : { chunks: [], ...(writes ? { writes } : {}) };
      await good.commit({ ...rest, values: [], ...left });
    }
    return result;
  });
}

function callbackLate(driver: StorageDriver): Partial<StorageDriver> {
  return committing(async (good, batch) => {
    const { guard: _, ...rest } = batch;
    try {
      return await good.commit(batch);
    } catch (error) {
      await good.commit({ ...rest, values: [] });
      throw error;
    }
  })(driver);
}

function deletesFirst(good: StorageDriver): Partial<StorageDriver> {
  return {
    async deleteThread(threadId, raise) {
      try {
        await good.deleteThread(threadId, raise);
      } catch (error) {
        await good.deleteThread(threadId, () => new Uint8Array());
        throw error;
      }
    },
  };
}

function erasComeBack(good: StorageDriver): Partial<StorageDriver> {
  const short = (era: string) => era.split(".")[1] ?? "";
  return {
    async thread(threadId) {
      const state = await good.thread(threadId);
      return state && { ...state, era: short(state.era) };
    },
    async commit({ era, ...batch }) {
      const known = (await good.thread(batch.threadId))?.era;
      if (era !== undefined && (known === undefined || short(known) !== era))
        return { ok: false, reason: "stale" };
      const result = await good.commit({ ...batch, era: undefined });
      return result.ok ? { ...result, era: short(result.era) } : result;
    },
  };
}

function guardSeesLive(driver: StorageDriver): Partial<StorageDriver> {
  return committing(async (good, { guard, ...batch }) => {
    if (!guard) return good.commit(batch);
    const live = (await good.records.get(guard.key))?.data;
    return good.commit({ ...batch, guard: { key: guard.key, allows: () => guard.allows(live) } });
  })(driver);
}

function revisions(change: (revision: string, era: string) => string): Fault {
  return (good) => ({
    async thread(threadId) {
      const state = await good.thread(threadId);
      return state && { ...state, revision: change(state.revision, state.era) };
    },
    async sweep(sweep) {
      const state = await good.thread(sweep.threadId);
      if (!state || change(state.revision, state.era) !== sweep.revision) return "changed";
      return good.sweep({ ...sweep, revision: state.revision });
    },
  });
}

function chunksReplace(good: StorageDriver): Partial<StorageDriver> {
  const last = new Map<string, Uint8Array>();
  return {
    commit(batch) {
      for (const { hash, data } of batch.chunks) last.set(hash, Uint8Array.from(data));
      return good.commit(batch);
    },
    async chunks(...hashes) {
      const found = await good.chunks(...hashes);
      return new Map([...found].map(([hash, data]) => [hash, last.get(hash) ?? data]));
    },
  };
}

function emptyChunks(good: StorageDriver): Partial<StorageDriver> {
  return {
    async chunks(threadId, hashes) {
      const found = await good.chunks(threadId, hashes);
      return new Map(hashes.map((hash) => [hash, found.get(hash) ?? new Uint8Array()]));
    },
  };
}

function valuesThere(good: StorageDriver): Partial<StorageDriver> {
  return { values: async (...keys) => (await good.values(...keys)).filter((data) => data !== undefined) };
}

function valuesSorted(good: StorageDriver): Partial<StorageDriver> {
  return {
    values: (threadId, namespace, keys) =>
      good.values(
        threadId,
        namespace,
        [...keys].sort((a, b) => compareTexts(a.version, b.version)),
      ),
  };
}

function latestById(good: StorageDriver): Partial<StorageDriver> {
  return {
    async *threads() {
      for await (const thread of good.threads()) {
        const heads = await toArray(good.heads({ threadId: thread.threadId }));
        yield { ...thread, latestCheckpointId: heads.sort(byId)[0]?.checkpointId ?? "" };
      }
    },
  };
}

function selecting(change: (rows: Row[]) => Row[]): Fault {
  return (good) => ({ rows: (...selection) => changed(good.rows(...selection), change) });
}

function rowsOfCheckpoints(good: StorageDriver): Partial<StorageDriver> {
  return {
    async *rows(threadId, kinds) {
      if (threadId !== undefined) yield* good.rows(threadId, kinds);
      else for await (const thread of good.threads()) yield* good.rows(thread.threadId, kinds);
    },
  };
}

function asText(data: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder().decode(data));
}

function sweepLeavesWrites(good: StorageDriver): Partial<StorageDriver> {
  return {
    async sweep(sweep) {
      const kept = await Promise.all(
        sweep.heads.map(async (head) => ({ head, rows: await good.writes(head) })),
      );
      const result = await good.sweep(sweep);
      if (result === "done")
        for (const { head, rows } of kept)
          await good.commit({
            threadId: head.threadId,
            namespace: head.namespace,
            era: undefined,
            chunks: [],
            values: [],
            isSame: () => true,
            writes: { checkpointId: head.checkpointId, rows },
          });
      return result;
    },
  };
}

/** The era as it was before the thread's first sweep. */
function sweepKeepsEra(good: StorageDriver): Partial<StorageDriver> {
  const life = (era: string) => era.split(".")[0] ?? "";
  return {
    async thread(threadId) {
      const state = await good.thread(threadId);
      return state && { ...state, era: life(state.era) };
    },
    async commit({ era, ...batch }) {
      const known = (await good.thread(batch.threadId))?.era;
      if (era !== undefined && (known === undefined || life(known) !== era))
        return { ok: false, reason: "stale" };
      const result = await good.commit({ ...batch, era: undefined });
      return result.ok ? { ...result, era: life(result.era) } : result;
    },
  };
}

function sweepAnyRevision(good: StorageDriver): Partial<StorageDriver> {
  return {
    async sweep(sweep) {
      const revision = (await good.thread(sweep.threadId))?.revision;
      return good.sweep({ ...sweep, revision: revision ?? sweep.revision });
    },
  };
}

function sweepRefusesLate(good: StorageDriver): Partial<StorageDriver> {
  return {
    async sweep(sweep) {
      const result = await good.sweep(sweep);
      const revision = (await good.thread(sweep.threadId))?.revision;
      if (result === "changed" && revision !== undefined)
        await good.sweep({ ...sweep, revision, heads: [], values: [], rewritten: [] });
      return result;
    },
  };
}

function eraIsRevision(good: StorageDriver): Partial<StorageDriver> {
  return {
    async thread(threadId) {
      const state = await good.thread(threadId);
      return state && { ...state, era: state.revision };
    },
    async commit({ era, ...batch }) {
      const known = (await good.thread(batch.threadId))?.revision;
      if (era !== undefined && known !== era) return { ok: false, reason: "stale" };
      const result = await good.commit({ ...batch, era: undefined });
      return result.ok ? { ...result, era: (await good.thread(batch.threadId))?.revision ?? "" } : result;
    },
  };
}

function threadsRemembered(good: StorageDriver): Partial<StorageDriver> {
  const latest = new Map<string, string>();
  return {
    commit(batch) {
      if (batch.head) latest.set(batch.threadId, batch.head.checkpointId);
      return good.commit(batch);
    },
    async *threads() {
      const listed = new Map((await toArray(good.threads())).map((row) => [row.threadId, row]));
      for (const [threadId, latestCheckpointId] of latest)
        yield listed.get(threadId) ?? { threadId, checkpoints: 0, latestCheckpointId };
    },
  };
}

function newestRemembered(good: StorageDriver): Partial<StorageDriver> {
  const newest = new Map<string, string>();
  const place = (threadId: string, namespace: string) => JSON.stringify([threadId, namespace]);
  return {
    async commit(batch) {
      const result = await good.commit(batch);
      const { threadId, namespace } = batch;
      const row = result.ok ? await good.head(threadId, namespace) : undefined;
      if (row) newest.set(place(threadId, namespace), row.checkpointId);
      return result;
    },
    async head(threadId, namespace, checkpointId) {
      return good.head(threadId, namespace, checkpointId ?? newest.get(place(threadId, namespace)));
    },
  };
}

import type { RecordKey } from "@longhaul/core";
import { toArray } from "../src/conformance/runner.ts";
import type {
  ArtifactRow,
  ArtifactTable,
  RecordTable,
  RowKind,
  StorageDriver,
} from "../src/driver/driver.ts";
import { StorageClosedError } from "../src/errors.ts";
import { changed, compareTexts, type Fault } from "./broken-drivers.ts";

/** Mistakes with deletion, closing, copies, records and artifacts, and the title of a test that must find each. */
export const BROKEN_LIVES: readonly (readonly [mistake: string, fault: Fault, caughtBy: string])[] = [
  ["a deletion takes the leases", deletesLeases, "deleteThread erases"],
  ["a deletion leaves the artifacts", deletionKeeps("artifacts"), "deleteThread erases"],
  ["a deletion leaves the records", deletionKeeps("records"), "deleteThread erases"],
  ["a deletion takes the next thread too", deletesNeighbour, "deleteThread erases"],
  [
    "a deletion raises from nothing",
    (good) => ({ deleteThread: (id, raise) => good.deleteThread(id, () => raise(undefined)) }),
    "deleteThread erases",
  ],
  ["closing twice throws", closesOnce, "open and close are idempotent"],
  ...closedCalls(),
  ["what is given is kept, not copied", keepsGiven, "what is stored is a copy"],
  ["what is read is not a copy", givesOwn, "what is stored is a copy"],
  ...sharedBytes(),
  ["any record version may be replaced", tabled(setsAlways), "records: a write needs the version"],
  [
    "a refused write does not tell what is there",
    tabled(refusesBlindly),
    "records: a write needs the version",
  ],
  ["records are compared before they are set", tabled(comparesEarly), "records: of many writers"],
  ["expired records are there", expiresLate(1_000_000), "records: an expired one is absent"],
  ["records expire late", expiresLate(1), "records: an expired one is absent"],
  ["versions count from one", tabled(countsFromOne), "records: an expired one is absent"],
  [
    "any version may be deleted",
    tabled((records) => ({ delete: (key) => records.delete(key) })),
    "records: an expired one is absent",
  ],
  [
    "purge takes all threads",
    tabled((records) => ({
      purge: async (thread) => (await records.purge(thread)) + (await records.purge("u")),
    })),
    "records: purge",
  ],
  ["purge takes nothing", tabled(() => ({ purge: async () => 0 })), "records: purge"],
  [
    "records in the order of UTF-16",
    tabled((records) => ({
      list: (...range) =>
        changed(records.list(...range), (rows) => rows.sort((a, b) => compareTexts(a.key.key, b.key.key))),
    })),
    "records: list is by collection",
  ],
  ["a prefix matches in any case", tabled(prefixIgnoresCase), "records: list is by collection"],
  ["no thread means all threads", tabled(emptyMeansAll), "records: list is by collection"],
  [
    "no more records than a page has",
    tabled((records) => ({
      list: (...range) => changed(records.list(...range), (rows) => rows.slice(0, 200)),
    })),
    "records: a long list",
  ],
  ["parts of keys are joined with slashes", tabled(joinsKeys), "records: keys of any shape"],
  ["the last content under a reference stays", stored(lastStays), "artifacts: the first content"],
  [
    "every artifact was stored, it says",
    stored((artifacts) => ({ put: async (...row) => (await artifacts.put(...row)) || true })),
    "artifacts: the first content",
  ],
  [
    "artifacts of every thread",
    stored((artifacts) => ({
      put: (_, row) => artifacts.put("", row),
      get: (_, ref) => artifacts.get("", ref),
      list: () => artifacts.list(""),
    })),
    "artifacts: the first content",
  ],
  [
    "artifacts are looked for before they are stored",
    stored(looksEarly),
    "artifacts: of many with one reference",
  ],
  [
    "artifacts by reference",
    stored((artifacts) => ({
      list: (id) => changed(artifacts.list(id), (rows) => rows.sort((a, b) => compareTexts(a.ref, b.ref))),
    })),
    "artifacts: list is in the order",
  ],
  ["the list has the data too", stored(listsData), "artifacts: list is in the order"],
  [
    "references without case",
    stored((artifacts) => ({
      put: (id, row) => artifacts.put(id.toLowerCase(), { ...row, ref: row.ref.toLowerCase() }),
      get: (id, ref) => artifacts.get(id.toLowerCase(), ref.toLowerCase()),
    })),
    "artifacts: references of any shape",
  ],
];

function tabled(fault: (records: RecordTable) => Partial<RecordTable>): Fault {
  return ({ records }) => ({
    records: {
      get: (key) => records.get(key),
      compareAndSet: (...row) => records.compareAndSet(...row),
      delete: (...key) => records.delete(...key),
      list: (...range) => records.list(...range),
      purge: (thread) => records.purge(thread),
      ...fault(records),
    },
  });
}

function stored(fault: (artifacts: ArtifactTable) => Partial<ArtifactTable>): Fault {
  return ({ artifacts }) => ({
    artifacts: {
      put: (...row) => artifacts.put(...row),
      get: (...address) => artifacts.get(...address),
      list: (threadId) => artifacts.list(threadId),
      ...fault(artifacts),
    },
  });
}

function deletesLeases(good: StorageDriver): Partial<StorageDriver> {
  return {
    async deleteThread(threadId, raise) {
      await good.deleteThread(threadId, raise);
      for (const row of await toArray(good.records.list("leases", threadId, "")))
        await good.records.delete(row.key);
    },
  };
}

function deletionKeeps(what: "artifacts" | "records"): Fault {
  return (good) => ({
    async deleteThread(threadId, raise) {
      const rows = await toArray(good.rows(threadId, [what === "artifacts" ? "artifact" : "record"]));
      await good.deleteThread(threadId, raise);
      for (const row of rows) {
        if (row.kind === "artifact") await good.artifacts.put(threadId, row);
        if (row.kind === "record") await good.records.compareAndSet(row.key, null, row, false);
      }
    },
  });
}

function deletesNeighbour(good: StorageDriver): Partial<StorageDriver> {
  return {
    async deleteThread(threadId, raise) {
      await good.deleteThread(threadId, raise);
      for (const row of await toArray(good.threads()))
        await good.deleteThread(row.threadId, () => new Uint8Array());
    },
  };
}

function closesOnce(good: StorageDriver): Partial<StorageDriver> {
  let closed = false;
  return {
    async close() {
      if (closed) throw new StorageClosedError();
      closed = true;
      await good.close();
    },
  };
}

/** For each call a driver that answers it after `close`, as from a cache. */
function closedCalls(): [string, Fault, string][] {
  const empty = async function* () {};
  const answers: Record<string, (closed: () => boolean, good: StorageDriver) => Partial<StorageDriver>> = {
    open: (closed, good) => ({ open: async () => (closed() ? undefined : good.open()) }),
    thread: (closed, good) => ({ thread: async (id) => (closed() ? undefined : good.thread(id)) }),
    commit: (closed, good) => ({
      commit: async (batch) => (closed() ? { ok: true, era: "", sibling: undefined } : good.commit(batch)),
    }),
    sweep: (closed, good) => ({ sweep: async (sweep) => (closed() ? "done" : good.sweep(sweep)) }),
    deleteThread: (closed, good) => ({
      deleteThread: async (...call) => (closed() ? undefined : good.deleteThread(...call)),
    }),
    head: (closed, good) => ({ head: async (...call) => (closed() ? undefined : good.head(...call)) }),
    heads: (closed, good) => ({ heads: (query) => (closed() ? empty() : good.heads(query)) }),
    writes: (closed, good) => ({ writes: async (...call) => (closed() ? [] : good.writes(...call)) }),
    values: (closed, good) => ({ values: async (...call) => (closed() ? [] : good.values(...call)) }),
    chunks: (closed, good) => ({ chunks: async (...call) => (closed() ? new Map() : good.chunks(...call)) }),
    threads: (closed, good) => ({ threads: () => (closed() ? empty() : good.threads()) }),
    rows: (closed, good) => ({ rows: (...call) => (closed() ? empty() : good.rows(...call)) }),
    check: (closed, good) => ({ check: async (id) => (closed() ? [] : good.check(id)) }),
    "records.get": (closed, good) =>
      tabled((records) => ({ get: async (key) => (closed() ? undefined : records.get(key)) }))(good),
    "records.compareAndSet": (closed, good) =>
      tabled((records) => ({
        compareAndSet: async (...row) =>
          closed() ? { ok: true, version: 1 } : records.compareAndSet(...row),
      }))(good),
    "records.delete": (closed, good) =>
      tabled((records) => ({ delete: async (...key) => (closed() ? true : records.delete(...key)) }))(good),
    "records.list": (closed, good) =>
      tabled((records) => ({ list: (...range) => (closed() ? empty() : records.list(...range)) }))(good),
    "records.purge": (closed, good) =>
      tabled((records) => ({ purge: async (thread) => (closed() ? 0 : records.purge(thread)) }))(good),
    "artifacts.put": (closed, good) =>
      stored((artifacts) => ({ put: async (...row) => (closed() ? true : artifacts.put(...row)) }))(good),
    "artifacts.get": (closed, good) =>
      stored((artifacts) => ({ get: async (...at) => (closed() ? undefined : artifacts.get(...at)) }))(good),
    "artifacts.list": (closed, good) =>
      stored((artifacts) => ({ list: (id) => (closed() ? empty() : artifacts.list(id)) }))(good),
  };
  return Object.entries(answers).map(([call, answer]) => [
    `${call} answers after close`,
    (good) => {
      let closed = false;
      const close = async () => {
        closed = true;
        await good.close();
      };
      return { ...answer(() => closed, good), close };
    },
    "open and close are idempotent",
  ]);
}

function keepsGiven(good: StorageDriver): Partial<StorageDriver> {
  let given: Uint8Array | undefined;
  return {
    commit(batch) {
      given = batch.head?.data;
      return good.commit(batch);
    },
    async head(...address) {
      const row = await good.head(...address);
      return row && { ...row, data: given ? Uint8Array.from(given) : row.data };
    },
  };
}

function givesOwn(good: StorageDriver): Partial<StorageDriver> {
  let own: Uint8Array | undefined;
  return {
    async head(...address) {
      const row = await good.head(...address);
      own ??= row?.data;
      return row && own && { ...row, data: own };
    },
  };
}

/** For each call a driver that gives the bytes themselves that it keeps in a cache, or keeps those that it was given. */
function sharedBytes(): [string, Fault, string][] {
  const faults: Record<string, Fault> = {
    "values read": (good) => ({ values: caching((...keys) => good.values(...keys)) }),
    "chunks read": (good) => ({ chunks: caching((...keys) => good.chunks(...keys)) }),
    "writes read": (good) => ({ writes: caching((...address) => good.writes(...address)) }),
    "heads listed": (good) => {
      const listed = caching(() => toArray(good.heads({ threadId: "t" })));
      return {
        async *heads() {
          yield* await listed();
        },
      };
    },
    "rows listed": (good) => {
      const listed = caching((kinds: readonly RowKind[] | undefined) => toArray(good.rows("t", kinds)));
      return {
        async *rows(_, kinds) {
          yield* await listed(kinds);
        },
      };
    },
    "records read": tabled((records) => ({ get: caching((key) => records.get(key)) })),
    "artifacts read": stored((artifacts) => ({ get: caching((...address) => artifacts.get(...address)) })),
    "records given": tabled((records) => {
      let given: Uint8Array | undefined;
      return {
        compareAndSet(key, expected, row, durable) {
          given = row.data;
          return records.compareAndSet(key, expected, row, durable);
        },
        async get(key) {
          const row = await records.get(key);
          return row && { ...row, data: Uint8Array.from(given ?? row.data) };
        },
      };
    }),
    "artifacts given": stored((artifacts) => {
      let given: Uint8Array | undefined;
      return {
        put(threadId, row) {
          given = row.data;
          return artifacts.put(threadId, row);
        },
        async get(threadId, ref) {
          const row = await artifacts.get(threadId, ref);
          return row && { ...row, data: Uint8Array.from(given ?? row.data) };
        },
      };
    }),
    "values given": (good) => {
      let given: Uint8Array | undefined;
      return {
        commit(batch) {
          given = batch.values[0]?.data;
          return good.commit(batch);
        },
        values: async (...keys) =>
          (await good.values(...keys)).map((data) => data && Uint8Array.from(given ?? data)),
      };
    },
    "chunks given": (good) => {
      let given: Uint8Array | undefined;
      return {
        commit(batch) {
          given = batch.chunks[0]?.data;
          return good.commit(batch);
        },
        chunks: async (...keys) =>
          new Map(
            [...(await good.chunks(...keys))].map(([hash, data]) => [hash, Uint8Array.from(given ?? data)]),
          ),
      };
    },
  };
  return Object.entries(faults).map(([what, fault]) => [
    `${what} are not copied`,
    fault,
    "what is stored is a copy",
  ]);
}

function caching<A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) {
  const answers = new Map<string, Promise<R>>();
  return (...args: A): Promise<R> => {
    const id = JSON.stringify(args);
    const answer = answers.get(id) ?? call(...args);
    answers.set(id, answer);
    return answer;
  };
}

function setsAlways(records: RecordTable): Partial<RecordTable> {
  return {
    async compareAndSet(key, _, row, durable) {
      const there = await records.get(key);
      return records.compareAndSet(key, there?.version ?? null, row, durable);
    },
  };
}

function refusesBlindly(records: RecordTable): Partial<RecordTable> {
  return {
    async compareAndSet(...row) {
      const result = await records.compareAndSet(...row);
      return result.ok ? result : { ok: false, current: undefined };
    },
  };
}

function comparesEarly(records: RecordTable): Partial<RecordTable> {
  return {
    async compareAndSet(key, expected, row, durable) {
      let current = await records.get(key);
      if ((current?.version ?? null) !== expected) return { ok: false, current };
      for (;;) {
        const result = await records.compareAndSet(key, current?.version ?? null, row, durable);
        if (result.ok) return result;
        current = result.current;
      }
    },
  };
}

/** Records that live longer than they were given; what is read says what was given. */
function expiresLate(lateMs: number): Fault {
  return tabled((records) => ({
    async get(key) {
      const row = await records.get(key);
      return row && { ...row, expiresAt: row.expiresAt === undefined ? undefined : row.expiresAt - lateMs };
    },
    compareAndSet: (key, expected, { data, expiresAt }, durable) =>
      records.compareAndSet(
        key,
        expected,
        { data, expiresAt: expiresAt === undefined ? undefined : expiresAt + lateMs },
        durable,
      ),
  }));
}

function countsFromOne(records: RecordTable): Partial<RecordTable> {
  const shift = new Map<string, number>();
  const id = (key: RecordKey) => JSON.stringify(key);
  return {
    async get(key) {
      const row = await records.get(key);
      return row && { ...row, version: row.version - (shift.get(id(key)) ?? 0) };
    },
    async compareAndSet(key, expected, row, durable) {
      const real = expected === null ? null : expected + (shift.get(id(key)) ?? 0);
      const result = await records.compareAndSet(key, real, row, durable);
      if (!result.ok) return result;
      if (expected === null) shift.set(id(key), result.version - 1);
      return { ok: true, version: result.version - (shift.get(id(key)) ?? 0) };
    },
    delete: (key, expected) =>
      records.delete(key, expected === undefined ? undefined : expected + (shift.get(id(key)) ?? 0)),
  };
}

function prefixIgnoresCase(records: RecordTable): Partial<RecordTable> {
  return {
    async *list(collection, thread, prefix) {
      for await (const row of records.list(collection, thread, ""))
        if (row.key.key.toLowerCase().startsWith(prefix.toLowerCase())) yield row;
    },
  };
}

function emptyMeansAll(records: RecordTable): Partial<RecordTable> {
  return {
    async *list(collection, thread, prefix) {
      yield* records.list(collection, thread, prefix);
      if (thread === "") yield* records.list(collection, "t", prefix);
    },
  };
}

function joinsKeys(records: RecordTable): Partial<RecordTable> {
  const joined = ({ collection, thread, key }: RecordKey): RecordKey => ({
    collection: "",
    thread: "",
    key: [collection, thread, key].filter((part) => part !== "").join("/"),
  });
  return {
    get: (key) => records.get(joined(key)),
    compareAndSet: (key, ...row) => records.compareAndSet(joined(key), ...row),
  };
}

function lastStays(artifacts: ArtifactTable): Partial<ArtifactTable> {
  const last = new Map<string, ArtifactRow>();
  return {
    put(threadId, row) {
      last.set(JSON.stringify([threadId, row.ref]), row);
      return artifacts.put(threadId, row);
    },
    get: async (threadId, ref) => last.get(JSON.stringify([threadId, ref])),
  };
}

function looksEarly(artifacts: ArtifactTable): Partial<ArtifactTable> {
  return {
    async put(threadId, row) {
      const there = await artifacts.get(threadId, row.ref);
      if (there) return false;
      await artifacts.put(threadId, row);
      return true;
    },
  };
}

function listsData(artifacts: ArtifactTable): Partial<ArtifactTable> {
  return {
    async *list(threadId) {
      for await (const row of artifacts.list(threadId)) {
        const whole = await artifacts.get(threadId, row.ref);
        if (whole) yield whole;
      }
    },
  };
}

import { crc32 } from "node:zlib";
import { HumanMessage } from "@langchain/core/messages";
import { DeltaValue, END, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver, DamagedRecordError, type Row, type StorageDriver } from "@longhaul/checkpointer";
import { systemDeps } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { FileDriver } from "../src/file/file-driver.ts";
import { MemoryDriver } from "../src/memory/memory-driver.ts";
import { PostgresDriver } from "../src/postgres/postgres-driver.ts";
import { RedisDriver } from "../src/redis/redis-driver.ts";
import { SqliteDriver } from "../src/sqlite/sqlite-driver.ts";
import { loadRows } from "./rows.ts";
import { describePostgres, describeRedis, postgresSchema, REDIS_URL, redisPrefix } from "./servers.ts";
import { tempFile } from "./temp.ts";

/*
 * The rows of a thread, one of them changed, on each storage; damage.test.ts changes a SQLite file with plain SQL. A folder's journals have
 * checksums of their own: see journal-damage.test.ts.
 */
const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };
const ID = uuid6(1);
const meta = { source: "loop" as const, step: 0, parents: {} };
const values = {
  messages: Array.from(
    { length: 40 },
    (_, i) => new HumanMessage({ id: `m${i}`, content: `${i} `.repeat(400) }),
  ),
  note: "short",
};

async function rowsWith(compression: "deflate" | "none"): Promise<Row[]> {
  const driver = new MemoryDriver({ clock: systemDeps.clock });
  const saver = new CompactSaver(driver, { compression });
  const versions = { messages: "1", note: "1" };
  const checkpoint = {
    ...emptyCheckpoint(),
    id: ID,
    channel_values: values,
    channel_versions: versions,
  };
  const config = await saver.put(root, checkpoint, meta, versions);
  await saver.putWrites(config, [["messages", "w".repeat(3_000)]], "task");
  const rows: Row[] = [];
  for await (const row of driver.rows("t")) rows.push(row);
  return rows;
}

const packed = await rowsWith("deflate");

/** One byte changed, and the checksum made to fit, as a newer version would write it. */
function edited(data: Uint8Array, at: number, value: number): Buffer {
  const copy = Buffer.from(data);
  copy[at] = value;
  copy.writeUInt32BE(crc32(copy.subarray(7), crc32(copy.subarray(0, 3))), 3);
  return copy;
}

const CHANGES: [string, (data: Uint8Array) => Uint8Array | undefined][] = [
  [
    "a flipped bit",
    (data) => Buffer.from(data).fill((data.at(-3) as number) ^ 4, data.length - 3, data.length - 2),
  ],
  ["a cut end", (data) => data.subarray(0, -10)],
  ["an empty blob", () => new Uint8Array()],
  ["a foreign blob", () => Buffer.from('{"plain":"json of someone else"}')],
  ["an unknown format", (data) => edited(data, 1, 9)],
  ["an unknown codec", (data) => edited(data, 2, 77)],
  [
    "a size of 64 GiB",
    (data) => {
      const size = Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x02]);
      return edited(Buffer.concat([data.subarray(0, 7), size, data.subarray(8)]), 0, 0x4c);
    },
  ],
];

function suite(make: () => StorageDriver): void {
  async function load(rows: readonly Row[]): Promise<CompactSaver> {
    const driver = make();
    await loadRows(driver, rows);
    return new CompactSaver(driver);
  }

  async function damageOf(saver: CompactSaver): Promise<DamagedRecordError> {
    const error: unknown = await saver.getTuple(root).catch((reason: unknown) => reason);
    expect(DamagedRecordError.isInstance(error)).toBe(true);
    return error as DamagedRecordError;
  }

  it.each(CHANGES)("C16: %s is a typed error with its place, and stays as it is", async (_, change) => {
    for (const kind of ["head", "value", "chunk", "write"] as const) {
      const at = packed.findIndex((row) => row.kind === kind);
      const row = packed[at] as Row;
      const bad = { ...row, data: change(row.data) } as Row;
      const saver = await load(packed.with(at, bad));
      const { place } = await damageOf(saver);
      expect(place).toMatchObject({ threadId: "t", checkpointId: ID });
      if (kind !== "head") expect(["messages", "note"]).toContain(place.channel);
      const report = await saver.verify("t");
      expect(report.ok).toBe(false);
      expect(report.problems[0]?.threadId).toBe("t");
      await damageOf(saver);
      await saver.deleteThread("t");
      await saver.end();
    }
  });

  it("C16: a missing row is damage, not an absent value", async () => {
    for (const kind of ["value", "chunk"] as const) {
      const saver = await load(packed.filter((row) => row !== packed.find((other) => other.kind === kind)));
      expect((await damageOf(saver)).place.channel).toEqual(expect.any(String));
      await saver.deleteThread("t");
      await saver.end();
    }
  });

  it("C16: an ancestor that a delta channel is put together from is missed", async () => {
    const memory = new MemoryDriver({ clock: systemDeps.clock });
    const log = new DeltaValue(z.array(z.string()).default([]), {
      reducer: (all: string[], more: readonly string[][]) => all.concat(...more),
      snapshotFrequency: 50,
    });
    const build = (checkpointer: CompactSaver) =>
      new StateGraph(new StateSchema({ log }))
        .addNode("one", () => ({ log: ["one"] }))
        .addNode("two", () => ({ log: ["two"] }))
        .addEdge(START, "one")
        .addEdge("one", "two")
        .addEdge("two", END)
        .compile({ checkpointer });
    await build(new CompactSaver(memory)).invoke({ log: ["in"] }, root);
    const rows: Row[] = [];
    for await (const row of memory.rows("t")) rows.push(row);
    const heads = rows.filter((row) => row.kind === "head").sort((a, b) => a.sequence - b.sequence);
    expect(heads.length).toBe(4);
    for (const gone of heads.slice(0, 3)) {
      const saver = await load(rows.filter((row) => row !== gone));
      const { checkpointId } = heads[heads.indexOf(gone) + 1] as (typeof heads)[number];
      await expect(build(saver).getState(root)).rejects.toMatchObject({
        code: "DAMAGED_RECORD",
        place: { threadId: "t", checkpointId },
      });
      await saver.deleteThread("t");
      // a run from a checkpoint that never was has nothing before it
      const stale = { configurable: { ...root.configurable, checkpoint_id: uuid6(9) } };
      await build(saver).invoke({ log: ["again"] }, stale);
      expect((await build(saver).getState(root)).values.log).toEqual(["again", "one", "two"]);
      await saver.deleteThread("t");
      await saver.end();
    }
  });

  it("C16: rows from before packing, packed ones and later plain ones are read side by side", async () => {
    const plain = await rowsWith("none");
    const saver = await load([
      ...plain.filter(({ kind }) => kind !== "head"),
      ...packed.filter(({ kind }) => kind === "head"),
    ]);
    expect((await saver.getTuple(root))?.checkpoint.channel_values).toStrictEqual(values);
    expect((await saver.verify("t")).ok).toBe(true);
    await saver.deleteThread("t");
    await saver.end();
  });
}

describe("damage in memory", () => suite(() => new MemoryDriver({ clock: systemDeps.clock })));
describe("damage on SQLite", () =>
  suite(() => new SqliteDriver({ path: tempFile(), readOnly: false, busyWaitMs: 5_000, deps: systemDeps })));
describe("damage in a folder", () =>
  suite(() => new FileDriver({ path: tempFile("threads"), busyWaitMs: 5_000, deps: systemDeps })));

const { url } = postgresSchema("damage");
describePostgres("damage on Postgres", () =>
  suite(() => new PostgresDriver({ url, busyWaitMs: 5_000, deps: systemDeps })),
);

const keyPrefix = redisPrefix("damage");
describeRedis("damage on Redis", () => {
  suite(() => new RedisDriver({ url: REDIS_URL, keyPrefix, busyWaitMs: 5_000, deps: systemDeps }));
});

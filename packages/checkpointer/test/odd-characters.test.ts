import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { describe, expect, it } from "vitest";
import { describePostgres, describeRedis, postgresSchema, REDIS_URL, redisPrefix } from "./servers.ts";
import { tempFile } from "./temp.ts";

const meta = { source: "loop" as const, step: 1, parents: {} };
/** Names that mean something to a file system, a database, a pattern or JavaScript. */
const NAMES = [
  "../../x",
  "a/b\\c",
  "'; DROP TABLE heads; --",
  "__proto__",
  "constructor",
  "%00%",
  "a\nb\t",
  "é日本\u{1f600}",
  "*[a]?",
  "A",
  "a",
  " ",
  "\u2028",
  "x".repeat(2_000),
];

function oddTests(open: () => CompactSaver): void {
  it("C13: NUL and odd characters survive in state, writes, metadata and records, and filters match", async () => {
    const saver = open();
    const odd = {
      text: "a\u0000b",
      literal: "\\u0000",
      "key\u0000": "\ud800",
      long: "\u0000".repeat(1_000_000),
    };
    const config = { configurable: { thread_id: "c13", checkpoint_ns: "" } };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(1),
      channel_values: { odd },
      channel_versions: { odd: "1" },
    };
    const metadata = { ...meta, note: "a\u0000\ud800", literal: "\\u0000", "key\u0000": 1 };
    const put = await saver.put(config, checkpoint, metadata, { odd: "1" });
    await saver.putWrites(put, [["odd", odd]], "task");
    const tuple = await saver.getTuple(config);
    expect(tuple?.checkpoint.channel_values.odd).toStrictEqual(odd);
    expect(tuple?.metadata).toStrictEqual(metadata);
    expect(tuple?.pendingWrites).toStrictEqual([["task", "odd", odd]]);
    const count = async (filter: object) => {
      let found = 0;
      for await (const _ of saver.list(config, { filter: filter as never })) found += 1;
      return found;
    };
    expect(await count({ note: "a\u0000\ud800" })).toBe(1);
    expect(await count({ "key\u0000": 1 })).toBe(1);
    expect(await count({ literal: "\u0000" })).toBe(0);
    const key = { collection: "effects", thread: "c13", key: "k" };
    await saver.records.compareAndSet(key, null, odd);
    expect((await saver.records.get(key))?.value).toStrictEqual(odd);
    await saver.deleteThread("c13");
    await saver.end();
  });

  it("C13: a NUL or a lone surrogate in an address is a typed error", async () => {
    const saver = open();
    const plain = emptyCheckpoint();
    for (const bad of ["a\u0000b", "\ud800"]) {
      const at = (configurable: object) => ({
        configurable: { thread_id: "t", checkpoint_ns: "", ...configurable },
      });
      const calls: (() => Promise<unknown>)[] = [
        () => saver.put(at({ thread_id: bad }), plain, meta, {}),
        () => saver.put(at({ checkpoint_ns: bad }), plain, meta, {}),
        () => saver.put(at({}), { ...plain, id: bad }, meta, {}),
        () => saver.putWrites(at({ checkpoint_id: bad }), [["a", 1]], "task"),
        () => saver.putWrites(at({ checkpoint_id: "c" }), [["a", 1]], bad),
        () => saver.getTuple(at({ thread_id: bad })),
        () => saver.deleteThread(bad),
        () => saver.records.get({ collection: "effects", thread: "t", key: bad }),
        () => saver.artifacts.put("t", "x", { kind: "k", label: "l" }, bad),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
    }
    expect(await saver.stats()).toMatchObject({ checkpoints: 0, writes: 0 });
    await saver.end();
  });

  it("hostile names are names: each has its own place", async () => {
    const saver = open();
    const puts = NAMES.flatMap((thread_id) =>
      NAMES.slice(0, 4).map((checkpoint_ns) => ({ thread_id, checkpoint_ns })),
    );
    for (const [i, configurable] of puts.entries()) {
      const channel = NAMES[i % NAMES.length] as string;
      const values = Object.fromEntries([[channel, `value ${i}`]]);
      const versions = Object.fromEntries([[channel, "1"]]);
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(i),
        channel_values: values,
        channel_versions: versions,
      };
      const config = await saver.put({ configurable }, checkpoint, meta, versions);
      await saver.putWrites(config, [[channel, i]], channel);
    }
    for (const [i, configurable] of puts.entries()) {
      const channel = NAMES[i % NAMES.length] as string;
      const tuple = await saver.getTuple({ configurable });
      expect(Object.entries(tuple?.checkpoint.channel_values ?? {})).toEqual([[channel, `value ${i}`]]);
      expect(tuple?.pendingWrites).toEqual([[channel, channel, i]]);
    }
    expect((await saver.verify()).problems).toEqual([]);
    await saver.deleteThread("a");
    expect((await saver.stats("A")).checkpoints).toBe(4);
    for (const name of NAMES) await saver.deleteThread(name);
    expect((await saver.stats()).checkpoints).toBe(0);
    await saver.end();
  });
}

describe("odd characters in memory", () => oddTests(() => CompactSaver.fromConnString(":memory:")));
describe("odd characters on SQLite", () => oddTests(() => CompactSaver.fromConnString(tempFile())));
describe("odd characters in a folder", () =>
  oddTests(() => CompactSaver.fromConnString(`file:${tempFile("threads")}`)));

const { url } = postgresSchema("odd");
describePostgres("odd characters on Postgres", () => oddTests(() => CompactSaver.fromConnString(url)));

const keyPrefix = redisPrefix("odd");
describeRedis("odd characters on Redis", () =>
  oddTests(() => CompactSaver.fromConnString(REDIS_URL, { redis: { keyPrefix } })),
);

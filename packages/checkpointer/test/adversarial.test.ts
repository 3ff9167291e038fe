import { readFileSync, writeFileSync } from "node:fs";
import { AIMessage } from "@langchain/core/messages";
import { Annotation, MemorySaver, Send, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { InvalidOptionsError } from "@longhaul/core";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { CompactSaver, DamagedRecordError, ThreadGoneError, UnreadableTargetError } from "../src/index.ts";
import { open, tempFile } from "./temp.ts";

const meta = (step: number) => ({ source: "loop" as const, step, parents: {} });
const checkpoint = (values: Record<string, unknown>, versions: Record<string, string>, n: number) => ({
  ...emptyCheckpoint(),
  id: uuid6(n),
  channel_values: values,
  channel_versions: versions,
});
const thread = { configurable: { thread_id: "t" } };
const first = () => checkpoint({ x: [1], y: "Y".repeat(3_000) }, { x: "1", y: "1" }, 1);
const second = () => checkpoint({ x: [1, 2], y: "Y".repeat(3_000) }, { x: "2", y: "1" }, 2);

describe("a thread that is deleted while its run goes on", () => {
  it.each(["the same saver", "another one"])("does not come back by half, deleted by %s", async (who) => {
    const path = tempFile();
    const saver = CompactSaver.fromConnString(path);
    const deleter = who === "the same saver" ? saver : CompactSaver.fromConnString(path);
    const config = await saver.put(thread, first(), meta(1), { x: "1", y: "1" });
    await deleter.deleteThread("t");
    await expect(saver.put(config, second(), meta(2), { x: "2" })).rejects.toSatisfy(
      ThreadGoneError.isInstance,
    );
    expect(await saver.getTuple(thread)).toBeUndefined();
    expect((await saver.verify()).problems).toEqual([]);
    // a new life of the same id works at once
    await saver.put(thread, first(), meta(1), { x: "1", y: "1" });
    expect((await saver.getTuple(thread))?.checkpoint.channel_values.x).toEqual([1]);
    await saver.end();
    await deleter.end();
  });

  it("keeps its lease, so that its driver and a new one never hold it together", async () => {
    const saver = CompactSaver.fromConnString(":memory:");
    const lease = await saver.leases.acquire("t", 60_000);
    await saver.deleteThread("t");
    await expect(saver.leases.acquire("t", 60_000)).rejects.toMatchObject({ code: "LEASE_HELD" });
    await saver.leases.release(lease);
    expect((await saver.leases.acquire("t", 60_000)).token).toBe(lease.token + 1);
    await saver.end();
  });
});

it.each(["constructor", "toString", "__proto__"])(
  "C10: a channel called %s takes writes",
  async (channel) => {
    const saver = CompactSaver.fromConnString(":memory:");
    const config = await saver.put(thread, first(), meta(1), { x: "1", y: "1" });
    await saver.putWrites(config, [[channel, 7]], "task");
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([["task", channel, 7]]);
    await saver.end();
  },
);

it.each([
  [0, 0],
  [1.5, 2],
  [Number.POSITIVE_INFINITY, 3],
])("list with limit %d gives %d", async (limit, count) => {
  const saver = CompactSaver.fromConnString(":memory:");
  for (const n of [1, 2, 3]) await saver.put(thread, checkpoint({}, {}, n), meta(n), {});
  const found = [];
  for await (const tuple of saver.list(thread, { limit })) found.push(tuple);
  expect(found).toHaveLength(count);
  await saver.end();
});

it.each([[{ encryptionkey: "x" }], [null], [[]], [{ busyWait: 1 }]])("refuses the options %j", (options) => {
  const make = () => CompactSaver.fromConnString(":memory:", options as never);
  expect(make).toThrow(InvalidOptionsError);
});

it.each([1, 50, 99])("C16: a file of %d bytes that is not ours stays as it is", async (size) => {
  const path = tempFile("notes.txt");
  const text = "precious notes ".repeat(10).slice(0, size);
  writeFileSync(path, text);
  const saver = CompactSaver.fromConnString(path);
  await expect(saver.setup()).rejects.toSatisfy(UnreadableTargetError.isInstance);
  expect(readFileSync(path, "utf8")).toBe(text);
});

it.each(["DROP TABLE heads", "UPDATE heads SET data = NULL", "UPDATE heads SET data = 'text'"])(
  "C16: a database after %s is damaged, by name",
  async (sql) => {
    const path = tempFile();
    const saver = CompactSaver.fromConnString(path);
    await saver.put(thread, first(), meta(1), { x: "1", y: "1" });
    await saver.end();
    const database = new Database(path);
    if (sql.includes("NULL")) {
      // as a flipped byte makes it: the column's rule is only checked by writes
      database.unsafeMode(true);
      database.pragma("writable_schema = ON");
      database.exec("UPDATE sqlite_schema SET sql = replace(sql, 'data BLOB NOT NULL', 'data BLOB')");
      database.pragma("writable_schema = RESET");
    }
    database.exec(sql);
    database.close();
    const again = CompactSaver.fromConnString(path);
    await expect(again.getTuple(thread)).rejects.toSatisfy(DamagedRecordError.isInstance);
    await again.end();
  },
);

it("C11: arguments with a __proto__ key pass a Send, and pollute nothing", async () => {
  const args = JSON.parse('{"__proto__":{"polluted":true},"q":"x"}') as Record<string, unknown>;
  const State = Annotation.Root({ out: Annotation<string>() });
  const build = () =>
    new StateGraph(State)
      .addNode("plan", async () => ({}))
      .addNode("work", async (input: { call: { args: { q: string } } }) => ({ out: input.call.args.q }))
      .addEdge("__start__", "plan")
      .addConditionalEdges("plan", () => [new Send("work", { call: { args } })], ["work"]);
  const saver = CompactSaver.fromConnString(":memory:");
  for (const checkpointer of [new MemorySaver(), saver]) {
    expect((await build().compile({ checkpointer }).invoke({}, thread)).out).toBe("x");
  }
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  const message = new AIMessage({ content: "", tool_calls: [{ id: "c", name: "act", args }] });
  const config = await saver.put(
    { configurable: { thread_id: "u" } },
    checkpoint(
      { messages: [message], inherits: Object.assign(Object.create({ a: 1 }), { b: 2 }) },
      { messages: "1", inherits: "1" },
      1,
    ),
    meta(1),
    { messages: "1", inherits: "1" },
  );
  const values = (await saver.getTuple(config))?.checkpoint.channel_values as {
    messages: AIMessage[];
    inherits: { a: number; b: number };
  };
  expect(Object.keys(values.messages[0]?.tool_calls?.[0]?.args ?? {})).toEqual(["__proto__", "q"]);
  expect([values.inherits.a, Object.keys(values.inherits)]).toEqual([1, ["b"]]);
  await saver.end();
});

describe("arguments that make no sense are refused with a typed error, and nothing is stored", () => {
  const at = { configurable: { ...thread.configurable, checkpoint_id: "c" } };
  const key = { collection: "c", thread: "t", key: "k" };
  const drain = async (items: AsyncIterable<unknown>) => {
    for await (const _ of items);
  };
  // biome-ignore lint/suspicious/noExplicitAny: what types forbid is what is tried
  it.each<[string, (saver: any) => Promise<unknown>, string]>([
    ["put without config", (s) => s.put(undefined, first(), meta(0), {}), "INVALID_ADDRESS"],
    ["put without checkpoint", (s) => s.put(thread, undefined, meta(0), {}), "INVALID_OPTIONS"],
    ["getTuple without config", (s) => s.getTuple(undefined), "INVALID_ADDRESS"],
    ["list without config", (s) => drain(s.list(undefined)), "INVALID_ADDRESS"],
    ["a limit below 0", (s) => drain(s.list(thread, { limit: -1 })), "INVALID_OPTIONS"],
    ["a limit that is no number", (s) => drain(s.list(thread, { limit: Number.NaN })), "INVALID_OPTIONS"],
    ["writes that are no list", (s) => s.putWrites(at, "abc", "task"), "INVALID_OPTIONS"],
    ["a write that is no pair", (s) => s.putWrites(at, [["a", 1], 5], "task"), "INVALID_OPTIONS"],
    ["import of nothing", (s) => s.importThread(null), "INVALID_OPTIONS"],
    ["import of bytes", (s) => s.importThread([Buffer.from("x")]), "IMPORT"],
    ["migration from no saver", (s) => s.migrateFrom({}), "INVALID_OPTIONS"],
    ["a function as record", (s) => s.records.compareAndSet(key, null, () => 1), "UNSTORABLE_VALUE"],
    ["a BigInt in a record", (s) => s.records.compareAndSet(key, null, { n: 1n }), "UNSTORABLE_VALUE"],
    ["an object as artifact", (s) => s.artifacts.put("t", {}, { kind: "k", label: "l" }), "INVALID_OPTIONS"],
  ])("%s", async (_, call, code) => {
    const saver = open(":memory:");
    const error: unknown = await (async () => call(saver))().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code });
    expect(await saver.stats()).toMatchObject({ checkpoints: 0, writes: 0, chunks: 0 });
    expect(await saver.records.get(key)).toBeUndefined();
  });
});

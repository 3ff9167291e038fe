import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { type CompactSaver, UnstorableValueError } from "@longhaul/checkpointer";
import { describe, expect, it } from "vitest";
import { open, tempFile, valuesOf } from "./temp.ts";

const meta = { source: "loop" as const, step: 0, parents: {} };
const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };
type Messages = { m: ToolMessage[] };
const plain = (id = uuid6(0)) => ({ ...emptyCheckpoint(), id });

describe("pending writes", () => {
  it("C10: special writes have their own slots, ordinary ones are write-once, repetition changes nothing", async () => {
    const path = tempFile();
    const a = open(path);
    const config = await a.put(root, plain(), meta, {});
    const batch: [string, unknown][] = [
      ["messages", "m"],
      ["__interrupt__", "i"],
    ];
    await a.putWrites(config, batch, "t1");
    await open(path).putWrites(config, batch, "t1");
    await a.putWrites(config, [["__resume__", "r1"]], "t1");
    await a.putWrites(config, [["__resume__", "r2"]], "t1");
    await a.putWrites(config, [["__error__", "e"]], "t1");
    await a.putWrites(config, [["messages", "another"]], "t1");
    const writes = (await open(path).getTuple(config))?.pendingWrites;
    expect(writes).toEqual([
      ["t1", "__resume__", "r2"],
      ["t1", "__interrupt__", "i"],
      ["t1", "__error__", "e"],
      ["t1", "messages", "m"],
    ]);
  });

  it("C10: nothing becomes durable before the writes that were put before it", async () => {
    const path = tempFile();
    const saver = open(path);
    const config = await saver.put(root, plain(), meta, {});
    const order: string[] = [];
    const large = "x".repeat(3_000_000);
    const writes = saver.putWrites(config, [["messages", large]], "t1").then(() => order.push("writes"));
    const child = saver.put(config, plain(uuid6(1)), meta, {}).then(() => order.push("put"));
    await Promise.all([writes, child]);
    expect(order).toEqual(["writes", "put"]);
    expect((await open(path).getTuple(config))?.pendingWrites?.[0]?.[2]).toBe(large);
  });

  it("C7: writes of three tasks at the same moment are all there, in the order of the task paths", async () => {
    const saver = open(":memory:");
    const config = await saver.put(root, plain(), meta, {});
    await Promise.all([
      saver.putWrites(config, [["c", 1]], "zzz", "~__pregel_push, 0000000001"),
      saver.putWrites(config, [["c", 2]], "aaa", "~__pregel_push, 0000000002"),
      saver.putWrites(config, [["c", 0]], "mmm", "~__pregel_pull, x"),
      saver.putWrites(config, [["c", -1]], "nnn"),
    ]);
    expect((await saver.getTuple(config))?.pendingWrites?.map((write) => write[2])).toEqual([-1, 0, 1, 2]);
  });

  it("C11: what is stored is a snapshot of the call's moment", async () => {
    const saver = open(":memory:");
    const message = new AIMessage({ content: "before", additional_kwargs: { deep: { list: [1] } } });
    const state = { list: [{ n: 1 }] };
    const checkpoint = {
      ...plain(),
      channel_values: { messages: [message], state },
      channel_versions: { messages: "1", state: "1" },
    };
    const put = saver.put(root, checkpoint, meta, { messages: "1", state: "1" });
    message.content = "after";
    (message.additional_kwargs.deep as { list: number[] }).list.push(2);
    state.list.push({ n: 2 });
    const values = (await saver.getTuple(await put))?.checkpoint.channel_values as {
      messages: AIMessage[];
      state: unknown;
    };
    expect(values.state).toEqual({ list: [{ n: 1 }] });
    expect(values.messages[0]?.content).toBe("before");
    expect(values.messages[0]?.additional_kwargs).toEqual({ deep: { list: [1] } });
  });

  it("a nested mutation is noticed at the next version, however the object was first seen", async () => {
    const saver = open(":memory:");
    const message = new ToolMessage({ content: "r", tool_call_id: "c", artifact: { rows: [{ v: 1 }] } });
    let parent = root as Awaited<ReturnType<typeof saver.put>>;
    const store = async (version: string) => {
      const checkpoint = {
        ...plain(uuid6(Number(version))),
        channel_values: { m: [message] },
        channel_versions: { m: version },
      };
      parent = await saver.put(parent, checkpoint, meta, { m: version });
      return (await valuesOf<Messages>(saver, parent)).m[0];
    };
    expect((await store("1"))?.artifact).toEqual({ rows: [{ v: 1 }] });
    message.artifact.rows[0].v = 2;
    expect((await store("2"))?.artifact).toEqual({ rows: [{ v: 2 }] });
    message.id = message.lc_kwargs.id = "later";
    expect((await store("3"))?.id).toBe("later");
    // what was read is recognised too, and a mutation of it noticed
    const read = (await valuesOf<Messages>(saver, parent)).m;
    (read[0] as ToolMessage).artifact.rows.push("new");
    const checkpoint = { ...plain(uuid6(4)), channel_values: { m: read }, channel_versions: { m: "4" } };
    const after = await saver.put(parent, checkpoint, meta, { m: "4" });
    expect((await valuesOf<Messages>(saver, after)).m[0]?.artifact).toEqual({
      rows: [{ v: 2 }, "new"],
    });
    expect((await valuesOf<Messages>(saver, parent)).m[0]?.artifact).toEqual({
      rows: [{ v: 2 }],
    });
  });

  it("C11: a value that cannot be stored is refused with its path, and the thread goes on", async () => {
    const saver = open(":memory:");
    const config = await saver.put(root, plain(), meta, {});
    const bad = saver.putWrites(config, [["files", [1, 2, 3, { cb: () => 1 }]]], "t1");
    await expect(bad).rejects.toMatchObject({ code: "UNSTORABLE_VALUE", path: "state.files[3].cb" });
    const checkpoint = {
      ...plain(uuid6(1)),
      channel_values: { a: 1n, b: Symbol("x") },
      channel_versions: { a: "1", b: "1" },
    };
    await expect(saver.put(config, checkpoint, meta, { a: "1", b: "1" })).rejects.toSatisfy(
      UnstorableValueError.isInstance,
    );
    expect((await saver.getTuple(root))?.checkpoint.id).toBe(config.configurable?.checkpoint_id);
    await saver.putWrites(config, [["files", [1n]]], "t1");
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([["t1", "files", [1n]]]);
  });

  it("put of the same id twice changes nothing, another value for the same version is refused", async () => {
    const saver = open(":memory:");
    const checkpoint = { ...plain(), channel_values: { a: [1] }, channel_versions: { a: "1" } };
    const config = await saver.put(root, checkpoint, meta, { a: "1" });
    await saver.put(root, checkpoint, meta, { a: "1" });
    expect(await saver.stats()).toMatchObject({ checkpoints: 1, values: 1 });
    const other = { ...plain(uuid6(1)), channel_values: { a: [2] }, channel_versions: { a: "1" } };
    await expect(saver.put(config, other, meta, { a: "1" })).rejects.toMatchObject({
      code: "VERSION_CONFLICT",
      channel: "a",
    });
    expect((await saver.getTuple(root))?.checkpoint.channel_values).toEqual({ a: [1] });
  });

  it("metadata and ids with odd characters come back, and unusable addresses are refused", async () => {
    const saver = open(":memory:");
    const odd = { ...meta, "a.b": "x\0y", "[0]": { deep: ["\ud800"] }, when: new Date(5) } as typeof meta;
    const config = await saver.put(
      { configurable: { thread_id: "a/../b'%_", checkpoint_ns: "x|y:z" } },
      plain(),
      odd,
      {},
    );
    expect((await saver.getTuple(config))?.metadata).toEqual(odd);
    const found = [];
    for await (const tuple of saver.list(
      { configurable: {} },
      { filter: { "a.b": "x\0y", "[0]": { deep: ["\ud800"] } } },
    )) {
      found.push(tuple.config);
    }
    expect(found).toEqual([config]);
    for (const thread_id of ["", "a\0b", "\ud800", {}, null]) {
      await expect(saver.put({ configurable: { thread_id } }, plain(), meta, {})).rejects.toMatchObject({
        code: "INVALID_ADDRESS",
        field: "thread_id",
      });
    }
    await expect(saver.putWrites(root, [["a", 1]], "t")).rejects.toMatchObject({ field: "checkpoint_id" });
  });

  it("list honours limit 0, before, and newest first; deleteThread on a fresh file is no error", async () => {
    const saver = open(tempFile());
    await saver.deleteThread("nobody");
    let config: Parameters<CompactSaver["put"]>[0] = root;
    for (let i = 0; i < 5; i++) config = await saver.put(config, plain(uuid6(i)), { ...meta, step: i }, {});
    const steps = async (options: Parameters<CompactSaver["list"]>[1]) => {
      const found = [];
      for await (const tuple of saver.list(root, options)) found.push(tuple.metadata?.step);
      return found;
    };
    expect(await steps({ limit: 0 })).toEqual([]);
    expect(await steps({ limit: 2 })).toEqual([4, 3]);
    expect(await steps({ before: config, limit: 1 })).toEqual([3]);
    expect(await steps({ filter: { step: 2 } })).toEqual([2]);
  });
});

describe("deleteThread", () => {
  it("erases checkpoints, records and artifacts of the thread and raises its generation", async () => {
    const path = tempFile();
    const saver = open(path);
    const other = open(path);
    const big = { ...plain(), channel_values: { a: "x".repeat(5000) }, channel_versions: { a: "1" } };
    await saver.put(root, big, meta, { a: "1" });
    await saver.put({ configurable: { thread_id: "u" } }, plain(), meta, {});
    await saver.records.compareAndSet({ collection: "effects", thread: "t", key: "k" }, null, 1);
    await saver.records.compareAndSet({ collection: "effects", thread: "u", key: "k" }, null, 1);
    const ref = await saver.artifacts.put("t", "text", { kind: "k", label: "l" });
    await other.deleteThread("t");
    expect(await saver.getTuple(root)).toBeUndefined();
    expect(await saver.records.get({ collection: "effects", thread: "t", key: "k" })).toBeUndefined();
    expect(await saver.artifacts.get("t", ref)).toBeUndefined();
    expect(await saver.stats("t")).toMatchObject({
      checkpoints: 0,
      chunks: 0,
      values: 0,
      writes: 0,
      rawBytes: 0,
    });
    expect(await saver.records.get({ collection: "effects", thread: "u", key: "k" })).toBeDefined();
    const generation = async () =>
      (await saver.records.get({ collection: "generations", thread: "", key: "t" }))?.value;
    expect(await generation()).toEqual({ v: 1, generation: 1 });
    await saver.deleteThread("t");
    expect(await generation()).toEqual({ v: 1, generation: 2 });
    // the same objects again, from the saver that believed their chunks to be stored
    await saver.put(root, big, meta, { a: "1" });
    expect((await other.getTuple(root))?.checkpoint.channel_values).toEqual({ a: "x".repeat(5000) });
    expect((await other.verify()).ok).toBe(true);
  });

  it("versions are strings that grow and are never equal on two branches", () => {
    const p = open(":memory:");
    const q = open(":memory:");
    const first = p.getNextVersion(undefined);
    const children = [p.getNextVersion(first), p.getNextVersion(first), q.getNextVersion(first)];
    expect(new Set(children).size).toBe(3);
    for (const child of children) {
      expect(child > first).toBe(true);
      expect(child.localeCompare(first)).toBe(1);
    }
    let version = first;
    for (let i = 0; i < 200; i++) {
      const next: string = (i % 2 === 0 ? p : q).getNextVersion(version);
      expect(next > version && next.localeCompare(version) === 1).toBe(true);
      version = next;
    }
  });
});

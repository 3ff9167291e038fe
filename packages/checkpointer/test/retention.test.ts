import { AIMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  Command,
  DeltaValue,
  END,
  interrupt,
  MemorySaver,
  Overwrite,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import type { CompactSaver, Retention } from "@longhaul/checkpointer";
import type { LonghaulEvent } from "@longhaul/core";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachStorage } from "./storages.ts";

interface Step {
  readonly values?: Record<string, unknown>;
  readonly versions?: Record<string, string>;
  readonly meta?: object;
  readonly writes?: readonly [string, unknown][];
}

/** Puts one checkpoint under `parent`; ids grow with `n`. */
async function put(
  saver: CompactSaver,
  parent: RunnableConfig,
  n: number,
  step: Step = {},
): Promise<RunnableConfig> {
  const { values = { note: n }, meta = {}, writes = [] } = step;
  const fresh = Object.fromEntries(
    Object.keys(values).map((channel) => [channel, saver.getNextVersion(undefined)]),
  );
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(n),
    ts: new Date(1_000_000 + n * 1_000).toISOString(),
    channel_values: values,
    channel_versions: { ...step.versions, ...fresh },
  };
  const metadata = { source: "loop" as const, step: n, parents: {}, ...meta };
  const config = await saver.put(parent, checkpoint, metadata, fresh);
  if (writes.length > 0) await saver.putWrites(config, [...writes], `task ${n}`);
  return config;
}

async function stepsOf(saver: CompactSaver, ns = ""): Promise<(number | undefined)[]> {
  const steps: (number | undefined)[] = [];
  for await (const { metadata } of saver.list({ configurable: { thread_id: "t", checkpoint_ns: ns } }))
    steps.push(metadata?.step);
  return steps.reverse();
}

const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };

/** C8's thread: bases of a delta channel at 1, 9 and 17, a fork at 6, and a child paused on an interrupt under 20. */
async function c8(saver: CompactSaver) {
  const configs: RunnableConfig[] = [root];
  let versions: Record<string, string> = {};
  const log = (n: number): Step => {
    versions = { ...versions, log: saver.getNextVersion(versions.log) };
    return {
      values: [1, 9, 17].includes(n) ? { note: n, log: [`base ${n}`] } : { note: n },
      versions,
      writes: [["log", `delta ${n}`]],
    };
  };
  for (let n = 1; n <= 20; n++) configs.push(await put(saver, configs[n - 1] as RunnableConfig, n, log(n)));
  const a = configs[20] as RunnableConfig;
  const b = await put(saver, configs[6] as RunnableConfig, 30, { values: { note: "fork" }, versions });
  const parents = { "": a.configurable?.checkpoint_id };
  const child = { configurable: { ...root.configurable, checkpoint_ns: "tools:1" } };
  const inner = await put(saver, child, 40, {
    values: { inner: 1 },
    meta: { parents },
    writes: [["__interrupt__", "ask"]],
  });
  return { a, b, inner };
}

async function seen(saver: CompactSaver, config: RunnableConfig) {
  const tuple = await saver.getTuple(config);
  const { log } = await saver.getDeltaChannelHistory({ config, channels: ["log"] });
  const { parentConfig: _, ...rest } = tuple ?? {};
  return { ...rest, log };
}

onEachStorage("retention", (fresh) => {
  it.each([[{ keepLast: 3 }], [{ maxAgeMs: 1 }]] as [Retention][])(
    "C8: %o keeps what live heads need, and they read as before",
    async (policy) => {
      const saver = fresh()({
        deps: { clock: { now: () => 100_000_000, monotonic: () => 0, sleep: async () => {} } as never },
      });
      const heads = await c8(saver);
      const before = await Promise.all(Object.values(heads).map((config) => seen(saver, config)));
      expect(before[0]?.log?.writes.length).toBeGreaterThan(2);
      const dry = await saver.prune("t", policy, { dryRun: true });
      expect((await stepsOf(saver)).length).toBe(21);
      const report = await saver.prune("t", policy);
      expect(report.removed).toEqual(dry.removed);
      expect(report.removed.length).toBeGreaterThan(5);
      expect(await Promise.all(Object.values(heads).map((config) => seen(saver, config)))).toEqual(before);
      expect((await saver.verify("t")).problems).toEqual([]);
      const again = await saver.prune("t", policy);
      expect([again.removed, again.removedValues, again.removedChunks]).toEqual([[], 0, 0]);
      // the chain back to the base of each head
      const left = await stepsOf(saver);
      for (const step of [17, 18, 19, 20, 30, 1, 2, 3, 4, 5, 6]) expect(left).toContain(step);
      expect(left).not.toContain(12);
    },
  );

  it.each([[-1], [0], [Number.NaN], [1.5], ["3"]])(
    "C8: keepLast %o throws and deletes nothing",
    async (keepLast) => {
      const saver = fresh()();
      await c8(saver);
      await expect(saver.prune("t", { keepLast } as Retention)).rejects.toMatchObject({
        code: "INVALID_OPTIONS",
      });
      await expect(saver.prune("t", {} as Retention)).rejects.toMatchObject({ code: "INVALID_OPTIONS" });
      expect((await stepsOf(saver)).length).toBe(21);
    },
  );

  it("removes values and chunks that nothing else needs, and a second saver notices", async () => {
    const open = fresh();
    const saver = open();
    const other = open();
    let config: RunnableConfig = root;
    const shared = new AIMessage({ id: "m", content: "x".repeat(5_000) });
    for (let n = 1; n <= 12; n++)
      config = await put(saver, config, n, { values: { messages: [shared], note: `${n}`.repeat(3_000) } });
    await other.getTuple(config);
    const before = await saver.stats("t");
    await saver.prune("t", { keepLast: 2 });
    const after = await saver.stats("t");
    expect(after.checkpoints).toBe(2);
    expect(after.chunks).toBeLessThan(before.chunks);
    expect(after.values).toBeLessThan(before.values);
    // what the other one knew to be stored may be gone: it must send it again
    const next = await put(other, config, 13, { values: { messages: [shared], note: "1".repeat(3_000) } });
    expect((await saver.getTuple(next))?.checkpoint.channel_values.note).toBe("1".repeat(3_000));
    expect((await saver.verify("t")).problems).toEqual([]);
    expect((await saver.getTuple(next))?.parentConfig).toEqual(config);
  });

  it("keeps marked checkpoints", async () => {
    const saver = fresh()();
    const configs: RunnableConfig[] = [root];
    for (let n = 1; n <= 6; n++) configs.push(await put(saver, configs[n - 1] as RunnableConfig, n));
    await saver.mark(configs[2] as RunnableConfig, "before the migration");
    await expect(
      saver.mark({ configurable: { ...root.configurable, checkpoint_id: "none" } }, "x"),
    ).rejects.toMatchObject({
      code: "NO_SUCH_CHECKPOINT",
    });
    await saver.prune("t", { keepLast: 1 });
    expect(await stepsOf(saver)).toEqual([2, 6]);
    await saver.prune("t", { keepLast: 1, milestones: false });
    expect(await stepsOf(saver)).toEqual([6]);
  });

  it("recommended: running keeps 10 and milestones, done the last and milestones, failed the last", async () => {
    const events: LonghaulEvent[] = [];
    const saver = fresh()({ retention: "recommended", events: (event) => void events.push(event) });
    const memory = (cutoff?: string) => ({
      v: 1,
      epoch: 0,
      appliedResets: [],
      cutoff,
      summaries: [],
      pastEpochs: [],
      identifiers: [],
      artifacts: {},
      unstored: [],
      effectsDone: [],
      fruitless: 0,
      calibration: 1,
    });
    const run = (status: string) => ({ v: 1, status, step: 1, since: 1, resumes: 0 });
    let config: RunnableConfig = root;
    let versions: Record<string, string> = {};
    const step = async (n: number, values: Record<string, unknown>) => {
      config = await put(saver, config, n, { values, versions });
      versions = (await saver.getTuple(config))?.checkpoint.channel_versions as Record<string, string>;
    };
    await step(1, { _longhaulRun: run("RUNNING"), _longhaulMemory: memory() });
    for (let n = 2; n <= 20; n++) await step(n, n === 5 ? { _longhaulMemory: memory("b") } : { note: n });
    expect((await stepsOf(saver)).length).toBe(20);
    await step(21, { _longhaulRun: run("PAUSED") });
    await saver.prune("t");
    expect(await stepsOf(saver)).toEqual([5, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
    await step(22, { _longhaulRun: run("COMPLETED") });
    await saver.prune("t");
    expect(await stepsOf(saver)).toEqual([5, 22]);
    await step(23, { _longhaulRun: run("FAILED") });
    await saver.end();
    const pruned = events.filter((event) => event.type === "checkpoint.pruned");
    expect(pruned.length).toBeGreaterThan(0);
    expect(events.filter((event) => event.type === "checkpoint.prune_failed")).toEqual([]);
  });

  it("C8: a graph that waits in a subgraph goes on after a prune as it would have", async () => {
    const saver = fresh()();
    const State = Annotation.Root({
      log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const inner = new StateGraph(State)
      .addNode("first", () => ({ log: ["inner first"] }))
      .addNode("ask", () => ({ log: [`answer ${interrupt("question")}`] }))
      .addEdge("__start__", "first")
      .addEdge("first", "ask")
      .compile();
    const outer = new StateGraph(State)
      .addNode("before", () => ({ log: ["before"] }))
      .addNode("child", inner)
      .addEdge("__start__", "before")
      .addEdge("before", "child")
      .compile({ checkpointer: saver as never });
    const config = { configurable: { thread_id: "t" } };
    await outer.invoke({ log: ["in"] }, config);
    const report = await saver.prune("t", { keepLast: 1 });
    expect(report.removed.length).toBeGreaterThan(0);
    const result = await outer.invoke(new Command({ resume: "yes" }), config);
    expect(result.log).toEqual(["in", "before", "in", "before", "inner first", "answer yes"]);
    expect((await saver.verify("t")).problems).toEqual([]);
  });

  it("C8: what a delta channel last was is kept, also when nobody has written it since", async () => {
    const saver = fresh()();
    const list = (snapshotFrequency: number) =>
      new DeltaValue(z.array(z.string()).default([]), {
        reducer: (all: string[], more: readonly string[][]) => all.concat(...more),
        snapshotFrequency,
      });
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(new StateSchema({ log: list(1), first: list(2), set: list(50) }))
        .addNode("one", () => ({ log: ["one"], first: ["first"] }))
        .addNode("two", () => ({ log: ["two"] }))
        .addNode("ask", () => ({ log: [String(interrupt("question"))] }))
        .addEdge(START, "one")
        .addEdge("one", "two")
        .addEdge("two", "ask")
        .addEdge("ask", END)
        .compile({ checkpointer });
    const config = { configurable: { thread_id: "t" } };
    const states: unknown[] = [];
    for (const checkpointer of [new MemorySaver(), saver]) {
      const graph = build(checkpointer as BaseCheckpointSaver);
      const look = async () => {
        if (checkpointer === saver) await saver.prune("t", { keepLast: 1 });
        states.push((await graph.getState(config)).values);
      };
      await graph.invoke({}, config);
      await look();
      // an overwrite is stored whole
      await graph.updateState(config, { set: new Overwrite(["set"]) as never }, "two");
      await look();
      await graph.invoke(new Command({ resume: "a" }), config);
      await look();
      await graph.invoke({ log: ["again"] }, config);
      await look();
      await graph.invoke(new Command({ resume: "b" }), config);
      await look();
    }
    expect(states.slice(5)).toEqual(states.slice(0, 5));
    expect(states.at(-1)).toEqual({
      log: ["one", "two", "a", "again", "one", "two", "b"],
      first: ["first", "first"],
      set: ["set"],
    });
    expect((await saver.verify("t")).problems).toEqual([]);
  });

  it("C8: calls of a subgraph that are over leave nothing, however many a node made", async () => {
    const saver = fresh()();
    const State = Annotation.Root({ n: Annotation<number> });
    const child = new StateGraph(State)
      .addNode("inner", ({ n }) => ({ n: n + 1 }))
      .addEdge(START, "inner")
      .addEdge("inner", END)
      .compile();
    const graph = new StateGraph(State)
      .addNode("calls", async ({ n }, config) => {
        const { n: once } = await child.invoke({ n }, config);
        return child.invoke({ n: once }, config);
      })
      .addEdge(START, "calls")
      .addEdge("calls", END)
      .compile({ checkpointer: saver });
    const config = { configurable: { thread_id: "t" } };
    for (let run = 0; run < 3; run++) expect(await graph.invoke({ n: run }, config)).toEqual({ n: run + 2 });
    expect((await saver.prune("t", { keepLast: 1 })).kept).toBe(1);
  });

  it("a run that writes all the while loses nothing", async () => {
    const saver = fresh()();
    let config: RunnableConfig = root;
    const prunes: Promise<unknown>[] = [];
    for (let n = 1; n <= 40; n++) {
      config = await put(saver, config, n, {
        values: { note: `${n}`.repeat(2_000), same: "s".repeat(3_000) },
      });
      if (n % 5 === 0)
        prunes.push(saver.prune("t", { keepLast: 2 }).catch((error: { code?: string }) => error.code));
    }
    const results = await Promise.all(prunes);
    expect(results.filter((result) => typeof result === "string" && result !== "STORAGE_BUSY")).toEqual([]);
    expect((await saver.verify("t")).problems).toEqual([]);
    expect((await saver.getTuple(config))?.checkpoint.channel_values.same).toBe("s".repeat(3_000));
  });
});

onEachStorage("copyThread", (fresh) => {
  it("gives a thread of its own with everything but the ledgers", async () => {
    const saver = fresh()();
    const { a, b, inner } = await c8(saver);
    await saver.mark(a, "here");
    const ref = await saver.artifacts.put("t", "content", { kind: "other", label: "l" });
    await saver.records.compareAndSet({ collection: "effects", thread: "t", key: "k" }, null, 1);
    await saver.copyThread("t", "copy");
    const moved = (config: RunnableConfig) => ({
      configurable: { ...config.configurable, thread_id: "copy" },
    });
    for (const config of [a, b, inner]) {
      const [from, to] = [await seen(saver, config), await seen(saver, moved(config))];
      expect({ ...to, config: from.config }).toEqual(from);
    }
    expect((await saver.artifacts.get("copy", ref))?.content).toBe("content");
    expect(await saver.records.get({ collection: "effects", thread: "copy", key: "k" })).toBe(undefined);
    expect((await saver.verify("copy")).problems).toEqual([]);
    await saver.deleteThread("t");
    expect((await seen(saver, moved(a))).log?.writes.length).toBeGreaterThan(2);
    await saver.prune("copy", { keepLast: 1 });
    expect((await saver.getTuple(moved(a)))?.checkpoint.channel_values.note).toBe(20);
    await expect(saver.copyThread("copy", "copy")).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    await expect(saver.copyThread("none", "other")).rejects.toMatchObject({ code: "NO_SUCH_CHECKPOINT" });
  });
});

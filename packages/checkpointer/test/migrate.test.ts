import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, interrupt, MemorySaver, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import type { CompactSaver } from "@longhaul/checkpointer";
import { createAgent, fakeModel } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { describePostgres, POSTGRES_URL, postgresSchema } from "./servers.ts";
import { open, tempFile } from "./temp.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

function nested(checkpointer: BaseCheckpointSaver | CompactSaver) {
  const inner = new StateGraph(State)
    .addNode("first", () => ({ log: ["inner first"] }))
    .addNode("ask", () => ({ log: [`answer ${interrupt("question")}`] }))
    .addEdge("__start__", "first")
    .addEdge("first", "ask")
    .compile();
  return new StateGraph(State)
    .addNode("before", () => ({ log: ["before"] }))
    .addNode("child", inner)
    .addNode("after", () => ({ log: ["after"] }))
    .addEdge("__start__", "before")
    .addEdge("before", "child")
    .addEdge("child", "after")
    .compile({ checkpointer: checkpointer as never });
}

/** An agent's thread, one that waits in a subgraph, and one with a fork. */
async function fill(saver: BaseCheckpointSaver): Promise<void> {
  const double = tool(({ n }) => `${2 * n}`, {
    name: "double",
    description: "d",
    schema: z.object({ n: z.number() }),
  });
  const model = fakeModel()
    .respond(
      new AIMessage({
        content: "",
        tool_calls: [
          { id: "c1", name: "double", args: { n: 2 } },
          { id: "c2", name: "double", args: { n: 3 } },
        ],
      }),
    )
    .respond(new AIMessage("4 and 6"));
  const agent = createAgent({ model: model as never, tools: [double], checkpointer: saver as never });
  await agent.invoke(
    { messages: [new HumanMessage("double 2 and 3")] },
    { configurable: { thread_id: "agent" } },
  );
  await nested(saver).invoke({ log: ["in"] }, { configurable: { thread_id: "waits" } });
  const chain = new StateGraph(State)
    .addNode("a", () => ({ log: ["a"] }))
    .addNode("b", () => ({ log: ["b"] }))
    .addEdge("__start__", "a")
    .addEdge("a", "b")
    .compile({ checkpointer: saver as never });
  const config = { configurable: { thread_id: "forked" } };
  await chain.invoke({ log: ["in"] }, config);
  const history = [];
  for await (const snapshot of chain.getStateHistory(config)) history.push(snapshot);
  const afterA = history.find((snapshot) => snapshot.next[0] === "b");
  const fork = await chain.updateState(afterA?.config ?? config, { log: ["fork"] }, "a");
  await chain.invoke(null, fork);
}

async function tuplesOf(saver: BaseCheckpointSaver, threadId: string): Promise<CheckpointTuple[]> {
  const tuples: CheckpointTuple[] = [];
  for await (const { config } of saver.list({ configurable: { thread_id: threadId } })) {
    const tuple = await saver.getTuple(config);
    if (tuple) tuples.push(tuple);
  }
  return tuples.sort((a, b) => ((a.checkpoint.id ?? "") < (b.checkpoint.id ?? "") ? 1 : -1));
}

/** What must be equal: versions of forks may have got a fraction, and absent namespaces are empty ones. */
function comparable({ config, parentConfig, checkpoint, metadata, pendingWrites }: CheckpointTuple) {
  const { v, id, ts, channel_values, channel_versions, versions_seen } = checkpoint;
  const whole = (versions: object) =>
    Object.fromEntries(Object.entries(versions).map(([k, n]) => [k, Math.floor(Number(n))]));
  return {
    at: [config.configurable?.thread_id, config.configurable?.checkpoint_ns ?? "", id],
    parent: parentConfig?.configurable?.checkpoint_id,
    // a channel without a version has never been written: what stands there is its default, and not stored
    checkpoint: {
      v,
      id,
      ts,
      channel_values: Object.fromEntries(
        Object.entries(channel_values).filter(([c]) => c in channel_versions),
      ),
    },
    versions: whole(channel_versions),
    seen: Object.fromEntries(Object.entries(versions_seen).map(([node, seen]) => [node, whole(seen)])),
    metadata,
    writes: [...(pendingWrites ?? [])].map((write) => JSON.stringify(write)).sort(),
  };
}

async function moves(source: BaseCheckpointSaver, target: string): Promise<void> {
  await fill(source);
  const saver = open(target);
  const seen: string[] = [];
  const report = await saver.migrateFrom(source, undefined, {
    onProgress: ({ threadId, done, total }) => void seen.push(`${threadId} ${done}/${total}`),
  });
  expect(report.problems).toEqual([]);
  expect(report.threads).toBe(3);
  expect(report.checkpoints).toBeGreaterThan(10);
  expect(seen.length).toBe(report.checkpoints);
  for (const thread of ["agent", "waits", "forked"]) {
    const theirs = (await tuplesOf(source, thread)).map(comparable);
    const ours = (await tuplesOf(saver as never, thread)).map(comparable);
    expect(theirs.length).toBeGreaterThan(2);
    expect(ours).toEqual(theirs);
  }
  expect((await saver.verify()).problems).toEqual([]);
  // repeating changes nothing
  const again = await saver.migrateFrom(source);
  expect([again.checkpoints, again.skipped]).toEqual([0, report.checkpoints]);
  // the graphs go on from ours as from theirs
  const config = { configurable: { thread_id: "waits" } };
  const resume = () => new Command({ resume: "yes" }) as never;
  expect(await nested(saver).invoke(resume(), config)).toEqual(await nested(source).invoke(resume(), config));
  const state = await nested(saver).getState(config);
  expect([state.next, state.values.log.at(-1)]).toEqual([[], "after"]);
  expect((await saver.verify()).problems).toEqual([]);
}

describe("migrateFrom", () => {
  it("takes over a SqliteSaver's database", () =>
    moves(SqliteSaver.fromConnString(tempFile("theirs.db")), tempFile()));
  it("a checkpoint is never there without its writes, so a call that was cut short can be repeated", async () => {
    const source = new MemorySaver();
    await nested(source).invoke({ log: ["in"] }, { configurable: { thread_id: "waits" } });
    const saver = open(":memory:");
    const getTuple = source.getTuple.bind(source);
    source.getTuple = async (config) => {
      const tuple = await getTuple(config);
      // writing stops at the last task
      return tuple && { ...tuple, pendingWrites: [...(tuple.pendingWrites ?? []), ["cut", "log", () => 1]] };
    };
    const cut = await saver.migrateFrom(source);
    expect(cut.problems.length).toBeGreaterThan(2);
    source.getTuple = getTuple;
    expect((await saver.migrateFrom(source)).skipped).toBe(0);
    const theirs = (await tuplesOf(source, "waits")).map(comparable);
    expect((await tuplesOf(saver as never, "waits")).map(comparable)).toEqual(theirs);
    expect(theirs.some(({ writes }) => writes.length > 0)).toBe(true);
  });
  it("takes over a MemorySaver", () => moves(new MemorySaver(), ":memory:"));

  it("reports what cannot be taken over and goes on", async () => {
    const source = new MemorySaver();
    await fill(source);
    const { getTuple } = source;
    let broken = "";
    source.getTuple = async (config) => {
      const tuple = await getTuple.call(source, config);
      if (
        config.configurable?.thread_id !== "agent" ||
        broken !== "" ||
        !tuple?.checkpoint.channel_versions.messages
      )
        return tuple;
      broken = tuple.checkpoint.id;
      return { ...tuple, checkpoint: { ...tuple.checkpoint, channel_values: { messages: () => 1 } } };
    };
    const saver = open(":memory:");
    const report = await saver.migrateFrom(source, ["agent", "waits"]);
    expect(report.problems).toEqual([
      { threadId: "agent", checkpointId: broken, error: expect.stringContaining("state.messages") },
    ]);
    expect(report.threads).toBe(2);
  });

  it("a saver of branches with equal versions keeps each branch's values", async () => {
    const source = new MemorySaver();
    await fill(source);
    const saver = open(":memory:");
    await saver.migrateFrom(source, ["forked"]);
    const logs = (await tuplesOf(saver as never, "forked")).map(
      (tuple) => tuple.checkpoint.channel_values.log,
    );
    expect(logs).toContainEqual(["in", "a", "b"]);
    expect(logs).toContainEqual(["in", "a", "fork", "b"]);
  });
});

const { schema } = postgresSchema("theirs");

describePostgres("migrateFrom on Postgres", () => {
  it("takes over a PostgresSaver's database", async () => {
    const source = PostgresSaver.fromConnString(POSTGRES_URL, { schema });
    await source.setup();
    try {
      await moves(source, tempFile());
    } finally {
      await source.end();
    }
  });
});

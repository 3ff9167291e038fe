import { AIMessage, HumanMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import type { LonghaulEvent } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

const Log = Annotation.Root({
  input: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
});
const echo = (saver: CompactSaver) =>
  new StateGraph(Log)
    .addNode("in", (state) => ({ log: [`in-${state.input}`] }))
    .addNode("out", (state) => ({ log: [`out-${state.input}`] }))
    .addEdge(START, "in")
    .addEdge("in", "out")
    .addEdge("out", END)
    .compile({ checkpointer: saver });

const meta = { source: "loop" as const, step: 0, parents: {} };

describe("branches of a thread", () => {
  it("C6: a fork holds its own writes only, and the branch that was left stays as it was", async () => {
    const path = tempFile();
    const thread = { configurable: { thread_id: "t" } };
    let head1: CheckpointTuple["config"] | undefined;
    {
      const saver = CompactSaver.fromConnString(path);
      const graph = echo(saver);
      await graph.invoke({ input: "1" }, thread);
      const after1 = (await graph.getState(thread)).config;
      await graph.invoke({ input: "2" }, thread);
      head1 = (await graph.getState(thread)).config;
      await graph.invoke({ input: "3" }, after1);
      await saver.end();
    }
    const graph = echo(open(path));
    expect((await graph.getState(thread)).values.log).toEqual(["in-1", "out-1", "in-3", "out-3"]);
    expect((await graph.getState(head1)).values.log).toEqual(["in-1", "out-1", "in-2", "out-2"]);
  });

  it("C6: an interrupt asks again when the run is replayed from before its answer", async () => {
    const path = tempFile();
    const build = (saver: CompactSaver) =>
      new StateGraph(Log)
        .addNode("ask", () => ({ log: [interrupt("name?") as string] }))
        .addEdge(START, "ask")
        .addEdge("ask", END)
        .compile({ checkpointer: saver });
    const thread = { configurable: { thread_id: "t" } };
    const first = CompactSaver.fromConnString(path);
    await build(first).invoke({ input: "x" }, thread);
    const paused = (await build(first).getState(thread)).config;
    expect((await build(first).invoke(new Command({ resume: "Ada" }), thread)).log).toEqual(["Ada"]);
    await first.end();
    const graph = build(open(path));
    // replay from the paused checkpoint's parent: the old answer belongs to the other branch
    const before = (await graph.getState(paused)).parentConfig;
    const again = await graph.invoke(null, before);
    expect(again.log ?? []).toEqual([]);
    expect((await graph.getState(thread)).tasks[0]?.interrupts[0]?.value).toBe("name?");
    expect((await graph.invoke(new Command({ resume: "Bob" }), thread)).log).toEqual(["Bob"]);
  });

  it("C7: two savers with the same head both leave a readable child, and an event says so", async () => {
    const path = tempFile();
    const events: LonghaulEvent[] = [];
    const p = open(path);
    const q = open(path, { events: (event) => events.push(event) });
    const root = { ...emptyCheckpoint(), id: uuid6(0) };
    const head = await p.put({ configurable: { thread_id: "t", checkpoint_ns: "" } }, root, meta, {});
    const child = (saver: CompactSaver, value: string) => {
      const version = saver.getNextVersion(undefined);
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(1),
        channel_values: { log: [value] },
        channel_versions: { log: version },
      };
      return saver.put(head, checkpoint, meta, { log: version });
    };
    const a = await child(p, "from p");
    expect(events).toEqual([]);
    const b = await child(q, "from q");
    expect(events).toMatchObject([
      { type: "checkpoint.forked", threadId: "t", namespace: "", sibling: a.configurable?.checkpoint_id },
    ]);
    expect((await q.get(a))?.channel_values).toEqual({ log: ["from p"] });
    expect((await p.get(b))?.channel_values).toEqual({ log: ["from q"] });
  });

  it("C7: twenty threads at once through one graph keep apart", async () => {
    const graph = echo(open(tempFile()));
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        graph.invoke({ input: `${i}` }, { configurable: { thread_id: `t${i}` } }),
      ),
    );
    for (const [i, { log }] of results.entries()) {
      expect(log).toEqual([`in-${i}`, `out-${i}`]);
      const state = await graph.getState({ configurable: { thread_id: `t${i}` } });
      expect(state.values.log).toEqual([`in-${i}`, `out-${i}`]);
    }
  });

  it("updateState, bulk copies and forks keep every value", async () => {
    const graph = echo(open(tempFile()));
    const thread = { configurable: { thread_id: "t" } };
    await graph.invoke({ input: "1" }, thread);
    const before = (await graph.getState(thread)).config;
    await graph.updateState(thread, { log: ["edited"] }, "out");
    // a copy comes without new versions and with the grandparent as its parent
    const copy = await graph.updateState(before, null, "__copy__");
    expect((await graph.getState(copy)).values.log).toEqual(["in-1", "out-1"]);
    const states = [];
    for await (const state of graph.getStateHistory(thread)) states.push(state);
    expect(states.some((state) => state.values.log?.includes("edited"))).toBe(true);
  });

  it("a Send carries the state as messages, and a parallel batch survives a new process", async () => {
    const path = tempFile();
    const build = (saver: CompactSaver, broken: boolean) =>
      new StateGraph(MessagesAnnotation)
        .addNode("plan", () => ({ messages: [new AIMessage({ id: "plan", content: "p".repeat(2000) })] }))
        .addNode("work", (state: typeof MessagesAnnotation.State & { n?: number }) => {
          if (broken && state.n === 1) throw new Error("crash");
          const last = state.messages.at(-1);
          return {
            messages: [
              new HumanMessage({
                id: `w${state.n}`,
                content: `${state.n} saw ${AIMessage.isInstance(last)}`,
              }),
            ],
          };
        })
        .addEdge(START, "plan")
        .addConditionalEdges("plan", (state) => [0, 1, 2].map((n) => new Send("work", { ...state, n })))
        .addEdge("work", END)
        .compile({ checkpointer: saver });
    const thread = { configurable: { thread_id: "t" }, durability: "sync" as const };
    const first = CompactSaver.fromConnString(path);
    await expect(build(first, true).invoke({ messages: [new HumanMessage("go")] }, thread)).rejects.toThrow(
      "crash",
    );
    await first.end();
    const result = await build(open(path), false).invoke(null, thread);
    expect(result.messages.slice(2).map((message) => message.content)).toEqual([
      "0 saw true",
      "1 saw true",
      "2 saw true",
    ]);
  });
});

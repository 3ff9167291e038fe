import { AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import {
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { guardTools, type SuperviseOptions, superviseRun } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { ask, bench, httpError, shown, thread } from "./supervised-agent.ts";

type State = { readonly messages: readonly BaseMessage[] };

/** How a graph stands in another: as a node, as a node that keeps its state over runs, or called in a node's function. */
const WAYS = ["node", "node with memory", "called"] as const;

/** A parent around a team whose second node charges a card and then fails, or asks, as told. */
function company(way: (typeof WAYS)[number], options: SuperviseOptions, after: () => void) {
  const world: string[] = [];
  const ran: string[] = [];
  const notes: (string | undefined)[] = [];
  const [charge] = guardTools(
    [
      tool(({ order }) => world.push(order) && `charged ${order}`, {
        name: "charge",
        description: "x",
        schema: z.object({ order: z.string() }),
      }),
    ] as const,
    {
      storage: options.storage as NonNullable<SuperviseOptions["storage"]>,
      tools: { charge: { effect: "record" } },
    },
  );
  const named = (name: string) => (_: State, config: RunnableConfig) => {
    ran.push(name);
    notes.push((config.configurable?.longhaul_resume as { note?: string } | undefined)?.note);
    return { messages: [new AIMessage(name)] };
  };
  const team = new StateGraph(MessagesAnnotation)
    .addNode("plan", named("plan"))
    .addNode("pay", async (_: State) => {
      ran.push("pay");
      const answer = await charge.invoke({
        type: "tool_call",
        id: "c1",
        name: "charge",
        args: { order: "O-7" },
      });
      after();
      return { messages: [new AIMessage(`paid: ${(answer as ToolMessage).text}`)] };
    })
    .addEdge(START, "plan")
    .addEdge("plan", "pay")
    .addEdge("pay", END)
    .compile(way === "node with memory" ? { checkpointer: true } : {});
  const node = way === "called" ? (state: State) => team.invoke(state as never) : team;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("before", named("before"))
    .addNode("team", node as never)
    .addNode("after", named("after"))
    .addEdge(START, "before")
    .addEdge("before", "team")
    .addEdge("team", "after")
    .addEdge("after", END)
    .compile({ checkpointer: new MemorySaver() });
  return { graph, world, ran, notes };
}

describe.each(WAYS)("a graph with a team inside (%s)", (way) => {
  it("D1: takes up what failed inside, where it failed; what it had done is done once", async () => {
    const { options } = bench();
    const failures = [httpError(503), httpError(503)];
    const { graph, world, ran, notes } = company(way, options, () => {
      const error = failures.shift();
      if (error) throw error;
    });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({ status: "COMPLETED", attempts: 3 });
    const texts = shown(result.state.messages);
    // what was charged before the failure is told as a stored result
    expect(texts.splice(3, 1)).toEqual([
      expect.stringMatching(/^ai: paid: charged O-7\n\n\[Stored result of /),
    ]);
    expect(texts).toEqual(["human: go", "ai: before", "ai: plan", "ai: after"]);
    expect(world).toEqual(["O-7"]);
    expect(ran).toEqual(["before", "plan", "pay", "pay", "pay", "after"]);
    expect(notes).toEqual([undefined, undefined, expect.stringContaining("HTTP_503")]);
  });

  it("D1: another process goes on inside after the first one died", async () => {
    const { options } = bench();
    const crash = new AbortController();
    let dies = true;
    const { graph, world, ran } = company(way, options, () => {
      if (dies) crash.abort();
      crash.signal.throwIfAborted();
    });
    const first = await superviseRun(graph, ask("go"), { ...thread(), signal: crash.signal }, options);
    expect(first).toMatchObject({ status: "PAUSED", stopReason: "cancelled" });
    dies = false;
    const again = company(way, options, () => {});
    const other = Object.assign(again.graph, { checkpointer: graph.checkpointer });
    const done = await superviseRun(other, null, thread(), options);
    expect(done).toMatchObject({ status: "COMPLETED", attempts: 2 });
    expect(world.concat(again.world)).toEqual(["O-7"]);
    expect(ran.concat(again.ran)).toEqual(["before", "plan", "pay", "pay", "after"]);
  });

  it("pauses at a question inside and goes on with the answer", async () => {
    const { options } = bench();
    const said: unknown[] = [];
    const { graph, world, ran } = company(way, options, () => void said.push(interrupt("ship it?")));
    const asked = await superviseRun(graph, ask("go"), thread(), options);
    expect(asked).toMatchObject({ status: "PAUSED", interrupts: [{ value: "ship it?" }] });
    // the same worker once more asks nothing twice
    expect(await superviseRun(graph, null, thread(), options)).toMatchObject({ status: "PAUSED" });
    const done = await superviseRun(graph, new Command({ resume: "yes" }), thread(), options);
    expect(done).toMatchObject({ status: "COMPLETED" });
    expect(said).toEqual(["yes"]);
    expect(world).toEqual(["O-7"]);
    expect(ran).toEqual(["before", "plan", "pay", "pay", "after"]);
  });

  it("a new turn charges anew", async () => {
    const { options } = bench();
    const { graph, world } = company(way, options, () => {});
    await superviseRun(graph, { messages: [new HumanMessage("one")] }, thread(), options);
    await superviseRun(graph, { messages: [new HumanMessage("two")] }, thread(), options);
    expect(world).toEqual(["O-7", "O-7"]);
  });
});

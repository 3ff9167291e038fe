import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  END,
  getCurrentTaskInput,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { memoryStorage } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { toolsNode } from "../src/index.ts";

const State = Annotation.Root({ ...MessagesAnnotation.spec, balance: Annotation<number> });
type State = typeof State.State;
const config = { configurable: { thread_id: "t" } };
const ask = (text: string) => ({ messages: [new HumanMessage(text)] });
type Call = [name: string, args?: object, id?: string];

let ids = 0;
const calling = (...calls: Call[]) =>
  new AIMessage({
    content: "",
    tool_calls: calls.map(([name, args = {}, id = `c${++ids}`]) => ({
      id,
      name,
      args: args as Record<string, unknown>,
    })),
  });
const make = (
  name: string,
  body: (args: { q?: string | undefined }, runtime: Record<string, unknown>) => unknown,
) =>
  tool((args, runtime) => body(args, runtime as unknown as Record<string, unknown>), {
    name,
    description: "x",
    schema: z.object({ q: z.string().optional() }),
  });
const results = (state: { messages: BaseMessage[] }) =>
  state.messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));
const texts = (state: { messages: BaseMessage[] }) => results(state).map(({ content }) => content);

/** agent → tools → agent, the agent's answers in turn. */
function build(
  node: ReturnType<typeof toolsNode>,
  answers: AIMessage[],
  options: { checkpointer?: MemorySaver | undefined; retry?: number } = {},
) {
  const list = [...answers];
  return new StateGraph(State)
    .addNode("agent", () => ({ messages: [list.shift() ?? new AIMessage("done")] }))
    .addNode(
      "tools",
      node,
      options.retry ? { retryPolicy: { maxAttempts: options.retry, initialInterval: 1 } } : {},
    )
    .addNode("elsewhere", () => ({ messages: [new AIMessage("elsewhere")] }))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", (state: State) =>
      (state.messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer: options.checkpointer ?? new MemorySaver() });
}

describe("toolsNode", () => {
  it("runs the open calls at once, and gives tools the state and the id of their call", async () => {
    const seen: unknown[] = [];
    const look = make("look", ({ q }, runtime) => {
      seen.push([
        runtime.toolCallId,
        (runtime.state as State).balance,
        (getCurrentTaskInput() as State).messages.length,
      ]);
      return `saw ${q}`;
    });
    const graph = build(toolsNode([look]), [calling(["look", { q: "a" }, "x1"], ["look", { q: "b" }, "x2"])]);
    const state = await graph.invoke({ ...ask("hi"), balance: 7 }, config);
    expect(texts(state)).toEqual(["saw a", "saw b"]);
    expect(seen).toEqual([
      ["x1", 7, 2],
      ["x2", 7, 2],
    ]);
  });

  it("answers only what is open, though call ids repeat in a thread", async () => {
    const node = toolsNode([make("look", ({ q }) => `saw ${q}`)]);
    const messages = [
      new HumanMessage("hi"),
      calling(["look", { q: "a" }, "call_0"]),
      new ToolMessage({ content: "saw a", tool_call_id: "call_0" }),
      calling(["look", { q: "b" }, "call_0"], ["look", { q: "c" }, "call_1"]),
      new ToolMessage({ content: "saw c", tool_call_id: "call_1" }),
    ];
    const output = (await node({ messages })) as { messages: ToolMessage[] };
    expect(output.messages.map(({ content }) => content)).toEqual(["saw b"]);
  });

  it("takes updates, jumps and hand-offs that tools return as Commands", async () => {
    const pay = tool(
      (_args, runtime) =>
        new Command({
          update: {
            balance: 5,
            messages: [
              new ToolMessage({
                content: "paid",
                tool_call_id: (runtime as { toolCallId: string }).toolCallId,
              }),
            ],
          },
        }),
      { name: "pay", description: "x", schema: z.object({}) },
    );
    const graph = build(toolsNode([pay, make("look", () => "saw")]), [calling(["pay"], ["look"])]);
    const state = await graph.invoke(ask("hi"), config);
    expect([state.balance, texts(state).toSorted()]).toEqual([5, ["paid", "saw"]]);
    const handOff = (name: string) =>
      make(name, () => new Command({ graph: Command.PARENT, goto: [new Send(name, {})] }));
    const output = (await toolsNode([handOff("transfer_to_a"), handOff("transfer_to_b")])({
      messages: [calling(["transfer_to_a"], ["transfer_to_b"])],
    })) as Command[];
    expect(output).toHaveLength(1);
    expect((output as { goto: Send[] }[]).flatMap(({ goto }) => goto).map(({ node }) => node)).toEqual([
      "transfer_to_a",
      "transfer_to_b",
    ]);
  });

  it("a tool's error, wrong arguments and an unknown tool are error results", async () => {
    const fail = make("fail", () => Promise.reject(new Error("no such page")));
    const graph = build(toolsNode([fail]), [calling(["fail"], ["fail", { q: 5 }], ["missing"])]);
    const answers = results(await graph.invoke(ask("hi"), config));
    expect(answers.map(({ status }) => status)).toEqual(["error", "error", "error"]);
    expect(answers[0]?.content).toContain("no such page\n Please fix your mistakes.");
    expect(answers[1]?.content).toContain("did not match expected schema");
    expect(answers[2]?.content).toContain('Tool "missing" not found');
  });

  it("C1: all questions at once, each answer to its call, in a new process; what was done is not run again", async () => {
    let charges = 0;
    const storage = memoryStorage();
    const checkpointer = new MemorySaver();
    const tools = [
      make("charge", () => `charged ${++charges}`),
      make("ask", ({ q }) => `${q}: ${interrupt(q) as string}`),
    ];
    const batch = calling(["charge"], ["ask", { q: "A" }], ["ask", { q: "B" }]);
    const paused = await build(toolsNode(tools, { storage }), [batch], { checkpointer }).invoke(
      ask("hi"),
      config,
    );
    const questions = (paused as unknown as { __interrupt__: { id: string; value: string }[] }).__interrupt__;
    expect(questions.map(({ value }) => value).toSorted()).toEqual(["A", "B"]);
    const graph = build(toolsNode(tools, { storage }), [], { checkpointer });
    const stable = (await graph.getState(config)).tasks.flatMap((task) =>
      task.interrupts.map(({ id }) => id),
    );
    expect(stable.toSorted()).toEqual(questions.map(({ id }) => id).toSorted());
    const answers = { B: "no", A: "yes" } as Record<string, string>;
    const resume = Object.fromEntries(questions.map(({ id, value }) => [id, answers[value]]));
    const state = await graph.invoke(new Command({ resume }), config);
    expect(texts(state)).toEqual(["charged 1", "A: yes", "B: no"]);
    expect(charges).toBe(1);
  });

  it("C1: answered one by one, in either order", async () => {
    for (const order of [
      ["A", "B"],
      ["B", "A"],
    ]) {
      const graph = build(toolsNode([make("ask", ({ q }) => `${q}: ${interrupt(q) as string}`)]), [
        calling(["ask", { q: "A" }], ["ask", { q: "B" }]),
      ]);
      let state: unknown = await graph.invoke(ask("hi"), config);
      for (const q of order) {
        const open = (state as { __interrupt__: { id: string; value: string }[] }).__interrupt__;
        const mine = open.find(({ value }) => value === q) as { id: string };
        state = await graph.invoke(new Command({ resume: { [mine.id]: `for ${q}` } }), config);
      }
      expect(texts(state as State)).toEqual(["A: for A", "B: for B"]);
    }
  });

  it("D11: a node's retry policy does not repeat an effect whose node failed beside it", async () => {
    let charges = 0;
    let fatal = 0;
    const broken = Object.assign(new Error("fatal"), { code: "ECONNREFUSED" });
    const graph = build(
      async (state: unknown, runtime) => {
        const output = await node(state, runtime as never);
        if (++fatal < 3) throw broken;
        return output;
      },
      [calling(["charge"])],
      { retry: 3 },
    );
    const node = toolsNode([make("charge", () => `charged ${++charges}`)]);
    const state = await graph.invoke(ask("hi"), config);
    expect(charges).toBe(1);
    expect(String(texts(state)[0])).toContain("charged 1");
  });

  it("C5: inside nested graphs an effect before a pause is not done again after it", async () => {
    const storage = memoryStorage();
    const checkpointer = new MemorySaver();
    const counts = { one: 0, two: 0 };
    const tools = [
      make("one", () => `one ${++counts.one}`),
      make("pause", () => interrupt("go on?") as string),
      make("two", () => `two ${++counts.two}`),
    ];
    const life = () => {
      const answers = [calling(["one"]), calling(["pause"]), calling(["two"])];
      const grandchild = new StateGraph(State)
        // The next answer is a function of the state, as a model's would be.
        .addNode("agent", (state: State) => ({
          messages: [answers[results(state).length] ?? new AIMessage("done")],
        }))
        .addNode("tools", toolsNode(tools, { storage }))
        .addEdge(START, "agent")
        .addConditionalEdges("agent", (state: State) =>
          (state.messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
        )
        .addEdge("tools", "agent")
        .compile();
      const child = new StateGraph(State)
        .addNode("grandchild", grandchild)
        .addEdge(START, "grandchild")
        .compile();
      return new StateGraph(State).addNode("child", child).addEdge(START, "child").compile({ checkpointer });
    };
    await life().invoke(ask("hi"), config);
    expect(counts).toEqual({ one: 1, two: 0 });
    await life().invoke(new Command({ resume: "yes" }), config);
    expect(counts).toEqual({ one: 1, two: 1 });
  });
});

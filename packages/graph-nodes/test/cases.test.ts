import { HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Command,
  interrupt,
  MemorySaver,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { type LonghaulEvent, memoryStorage } from "@longhaul/core";
import { callTools, type Reply, type Script, StrictChatModel } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { createLonghaulGraph } from "../src/index.ts";

// Field cases through the whole graph; their other instances are in the tests of middleware.

const config = (thread = "t") => ({ configurable: { thread_id: thread }, recursionLimit: 800 });
const ask = (content: string) => ({ messages: [new HumanMessage(content)] });
const make = (name: string, body: (args: Record<string, unknown>) => unknown) =>
  tool((args) => body(args as Record<string, unknown>), {
    name,
    description: "x",
    schema: z.looseObject({}),
  });
const results = (state: unknown) =>
  (state as { messages: ToolMessage[] }).messages.filter((message) => message.getType() === "tool");

function setup(
  script: Script | readonly (Reply | Script)[],
  tools: unknown[],
  options: Partial<Parameters<typeof createLonghaulGraph>[0]> = {},
  checkpointer = new MemorySaver(),
) {
  const events: LonghaulEvent[] = [];
  const model = new StrictChatModel({ script, windowTokens: 8_000 });
  const storage = options.storage ?? memoryStorage();
  const graph = createLonghaulGraph({
    model,
    tools,
    storage,
    progress: false,
    budget: { preset: "complex" },
    context: { window: 8_000, softLimit: 2_000 },
    events: (event) => void events.push(event),
    ...options,
  }).compile({ checkpointer });
  return { graph, model, events, storage, checkpointer };
}
const kinds = (events: readonly LonghaulEvent[], type: LonghaulEvent["type"]) =>
  events.filter((event) => event.type === type);

describe("createLonghaulGraph and the field cases", () => {
  it("A1, A3, A7: through folds with a careless summariser, goal and exact strings stay, every request is valid", async () => {
    const goal = "Перенеси ledger_eu в v3. Не трогай ledger_us. Заявка QX-4471.";
    let n = 0;
    const look = make(
      "look",
      ({ at }) =>
        `${at === 2 ? "commit a91be07 on 10.4.0.17:6432, ORD-99812" : ""}; ${`old row ${String(at)}; `.repeat(60)}`,
    );
    const summarizer = new StrictChatModel({
      script: () =>
        JSON.stringify({
          done: "The rows were read one after the other, commit a91be70 was seen in the config file.",
          outputs: [],
        }),
    });
    const { graph, model, events } = setup(
      () => (n < 30 ? callTools(["look", { at: ++n }], ["look", { at: ++n }]) : "done"),
      [look],
      { summarizer, loops: false },
    );
    await graph.invoke(ask(goal), config());
    expect(kinds(events, "fold.done").length).toBeGreaterThan(1);
    for (const { messages } of model.requests) expect(messages[0]?.text.startsWith(goal)).toBe(true);
    const last = model.requests
      .at(-1)
      ?.messages.map(({ text }) => text)
      .join("\n");
    for (const exact of ["a91be07", "10.4.0.17:6432", "ORD-99812"]) expect(last).toContain(exact);
    expect(last).not.toContain("a91be70");
  });

  it("B8: a loop is hinted, blocked and ended, each rung once, the history valid", async () => {
    let ran = 0;
    const poke = make("poke", () => `same ${ran++ * 0}`);
    const { graph, model, events } = setup(() => callTools(["poke", { a: 1 }]), [poke]);
    const state = await graph.invoke(ask("go"), config());
    expect(ran).toBeLessThanOrEqual(5);
    expect(kinds(events, "loop.hint")).toHaveLength(1);
    expect(kinds(events, "loop.stop")).toHaveLength(1);
    expect(state.messages.at(-1)?.text).toBeTruthy();
    expect(model.requests.length).toBeLessThanOrEqual(7);
    expect((await graph.getState(config())).values._longhaulRun).toMatchObject({
      status: "NEEDS_HUMAN",
      stopReason: "loop",
    });
  });

  it("B1, B7: a changing poll and paging are no loop", async () => {
    let n = 0;
    const build = make("read_output", () => `${n * 5} %`);
    const list = make(
      "list",
      ({ offset }) => `rows ${String(offset)} to ${Number(offset) + 49}: id-${String(offset)}`,
    );
    const { graph, events } = setup(
      () => {
        n++;
        return n <= 15
          ? callTools(["read_output", { h: "b7" }])
          : n <= 40
            ? callTools(["list", { offset: n * 50 }])
            : "done";
      },
      [build, list],
      { toolOptions: { read_output: { effect: "none", poll: {} }, list: { effect: "none" } } },
    );
    expect((await graph.invoke(ask("build"), config())).messages.at(-1)?.text).toBe("done");
    expect(events.filter(({ type }) => type.startsWith("loop."))).toEqual([]);
  });

  it("C1: three parallel questions beside an effect, answered in another order after a restart", async () => {
    let charged = 0;
    const storage = memoryStorage();
    const saver = new MemorySaver();
    const tools = [
      make("charge", () => `charged ${++charged}`),
      make("ask", ({ q }) => `${String(q)}: ${interrupt(q) as string}`),
    ];
    const script = [
      callTools(["ask", { q: "A" }], ["charge", { amt: 30 }], ["ask", { q: "B" }], ["ask", { q: "A" }]),
      "done",
    ];
    const first = setup(script, tools, { storage }, saver);
    const paused = await first.graph.invoke(ask("x"), config());
    const questions = (paused as unknown as { __interrupt__: { id: string; value: string }[] }).__interrupt__;
    expect(new Set(questions.map(({ id }) => id)).size).toBe(3);
    const second = setup(["done"], tools, { storage }, saver);
    const resume = Object.fromEntries(questions.toReversed().map(({ id, value }, i) => [id, `${value}${i}`]));
    const state = await second.graph.invoke(new Command({ resume }), config());
    const said = results(state).map(({ content }) => String(content));
    expect(charged).toBe(1);
    expect(said).toHaveLength(4);
    expect(said.filter((text) => text.startsWith("A: A")).length).toBe(2);
    expect(said.some((text) => text.startsWith("B: B"))).toBe(true);
  });

  it("C5: as a child of a child, and two children side by side: an effect before a pause is done once", async () => {
    const charged: Record<string, number> = {};
    const storage = memoryStorage();
    const saver = new MemorySaver();
    const charge = make("charge", ({ who }) => {
      charged[String(who)] = (charged[String(who)] ?? 0) + 1;
      return `charged ${String(who)}`;
    });
    const confirm = make(
      "confirm",
      ({ who }) => `${String(who)} ${interrupt(`sure, ${String(who)}?`) as string}`,
    );
    const child = (who: string) => {
      const model = new StrictChatModel({
        script: ({ messages }) => {
          const done = messages.filter((message) => message.role === "tool").length;
          const order = ["charge", "confirm", "charge"] as const;
          return done < order.length
            ? callTools([order[done] as string, done === 2 ? { who: `${who}-2` } : { who }])
            : `done ${who}`;
        },
      });
      const inner = createLonghaulGraph({
        model,
        tools: [charge, confirm],
        storage,
        progress: false,
        toolOptions: { charge: { effect: "record" } },
      });
      const State = new StateSchema({ messages: MessagesValue });
      return new StateGraph(State)
        .addNode("inner", inner.compile() as never)
        .addEdge(START, "inner")
        .compile();
    };
    const State = new StateSchema({ log: z.array(z.string()).default(() => []) });
    const build = () =>
      new StateGraph(State)
        .addNode("left", async () => {
          await child("left").invoke(ask("pay left"));
          return {};
        })
        .addNode("right", async () => {
          await child("right").invoke(ask("pay right"));
          return {};
        })
        .addEdge(START, "left")
        .addEdge(START, "right")
        .compile({ checkpointer: saver });
    const paused = await build().invoke({}, config());
    const questions = (paused as unknown as { __interrupt__: { id: string; value: string }[] }).__interrupt__;
    expect(questions.map(({ value }) => value).toSorted()).toEqual(["sure, left?", "sure, right?"]);
    expect(charged).toEqual({ left: 1, right: 1 });
    const resume = Object.fromEntries(questions.map(({ id }) => [id, "yes"]));
    await build().invoke(new Command({ resume }), config());
    expect(charged).toEqual({ left: 1, right: 1, "left-2": 1, "right-2": 1 });
  });

  it("D6: an outage told by text: done once, though the model asks three times", async () => {
    let sent = 0;
    const send = make("send", () => {
      sent++;
      throw new Error("HTTP error! status: 503");
    });
    const call = callTools(["send", { to: "a" }]);
    const { graph } = setup([call, call, call, "gave up"], [send], {
      toolOptions: { send: { effect: "record" } },
      loops: false,
    });
    const state = await graph.invoke(ask("send"), config());
    expect(sent).toBe(1);
    for (const { content } of results(state)) expect(content).toContain("Verify first");
  });

  it.each([16, 25, 61])(
    "E10: recursionLimit %i: an answer from what is there before the limit, and the thread goes on",
    async (recursionLimit) => {
      let n = 0;
      const look = make("look", () => `fact ${++n}`);
      const { graph } = setup(
        ({ messages, tools }) =>
          tools.length > 0
            ? callTools(["look", { n }])
            : `facts: ${messages.filter((message) => message.role === "tool").length}`,
        [look],
        { loops: false },
      );
      const state = await graph.invoke(ask("look"), { ...config(), recursionLimit });
      expect(state.messages.at(-1)?.text).toContain(`facts: ${n}`);
      expect((await graph.getState(config())).values._longhaulRun).toMatchObject({
        status: "PAUSED",
        stopReason: "step_limit",
      });
      const again = await graph.invoke(ask("continue"), { ...config(), recursionLimit });
      expect(again.messages.at(-1)?.text).toContain(`facts: ${n}`);
    },
  );

  it("E1, E11: a provider without usage: levels in order, once each, and a partial answer within the limit", async () => {
    let n = 0;
    const look = make("look", () => `fact ${++n} ${"word ".repeat(100)}`);
    const { graph, events } = setup(
      ({ tools }) => ({
        ...(tools.length > 0 ? callTools(["look", { n }]) : { content: "partial answer" }),
        usage: { inputTokens: Number.NaN, outputTokens: 10 },
      }),
      [look],
      { loops: false, budget: { limits: { tokens: 12_000 } } },
    );
    const state = await graph.invoke(ask("look"), config());
    const levels = events.flatMap((event) => (event.type === "budget.level" ? [event.level] : []));
    expect(new Set(levels).size).toBe(levels.length);
    expect(state.messages.at(-1)?.text).toContain("partial answer");
    expect((await graph.getState(config())).values._longhaulRun).toMatchObject({
      status: "PAUSED",
      stopReason: "budget:tokens",
    });
  });
});

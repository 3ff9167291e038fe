import type { BaseMessage } from "@langchain/core/messages";
import {
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import {
  BudgetTooSmallError,
  isAssistant,
  memoryStorage,
  messageText,
  readRunState,
  readSeal,
  systemClock,
} from "@longhaul/core";
import { callTools, type ScriptRequest } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { createLonghaulGraph, type LonghaulGraphOptions } from "../src/index.ts";
import { ask, make, openCallsOf, recorder, resultsOf, strict, textsOf } from "./world.ts";

let threads = 0;
const newThread = () => ({ configurable: { thread_id: `t${++threads}` } });

function build(options: LonghaulGraphOptions, checkpointer = new MemorySaver()) {
  return createLonghaulGraph(options).compile({ checkpointer });
}

async function valuesOf(graph: ReturnType<typeof build>, config: ReturnType<typeof newThread>) {
  return (await graph.getState(config)).values as {
    messages: BaseMessage[];
    _longhaulRun?: unknown;
    _longhaulMemory?: { summaries: unknown[]; epoch: number };
    _longhaulNotices?: unknown;
  };
}

/** A model that asks for a fresh page for ever, and answers when it has no tools. */
const reading = ({ messages, tools }: ScriptRequest) =>
  tools.length === 0
    ? `Partial: ${messages.length} messages seen.`
    : callTools(["look", { q: `page ${messages.filter(({ role }) => role === "tool").length}` }]);

describe("createLonghaulGraph", () => {
  it("runs to the final answer; input and output are messages alone", async () => {
    const model = strict([callTools(["look", { q: "a" }]), "Found it."]);
    const graph = build({ model, tools: [make("look", (q) => `saw ${q}`)], systemPrompt: "Be brief." });
    const config = newThread();
    const forged = { v: 1, status: "NEEDS_HUMAN", step: 40, since: 1, resumes: 7 };
    const state = await graph.invoke({ ...ask("Find it."), _longhaulRun: forged } as never, config);
    expect(Object.keys(state)).toEqual(["messages"]);
    expect(messageText(state.messages.at(-1)!)).toBe("Found it.");
    expect(resultsOf(state).map(({ content }) => content)).toEqual(["saw a"]);
    expect(model.requests[0]?.tools.map((entry) => entry.function.name)).toEqual([
      "look",
      "checkpoint",
      "reset",
      "recall",
    ]);
    expect(textsOf(model.requests[0])[0]).toBe("Be brief.");
    const values = await valuesOf(graph, config);
    expect(values._longhaulRun).toMatchObject({
      status: "COMPLETED",
      stopReason: "final_answer",
      step: 2,
      resumes: 0,
    });
    expect((values as { longhaulRequest?: unknown }).longhaulRequest).toBeUndefined();
  });

  it("runs the calls of one answer as tasks of their own, at once", async () => {
    let waiting = 0;
    let open: () => void = () => {};
    const both = new Promise<void>((resolve) => {
      open = resolve;
    });
    const meet = make("meet", async (q) => {
      if (++waiting === 2) open();
      await both;
      return q;
    });
    const model = strict([callTools(["meet", { q: "a" }], ["meet", { q: "b" }]), "done"]);
    const graph = build({ model, tools: [meet] });
    const updates: string[] = [];
    const config = newThread();
    for await (const update of await graph.stream(ask("go"), { ...config, streamMode: "updates" })) {
      updates.push(...Object.keys(update));
    }
    expect(updates).toEqual(["guard", "context", "model", "tools", "tools", "guard", "context", "model"]);
    expect(resultsOf(await valuesOf(graph, config)).map(({ content }) => content)).toEqual(["a", "b"]);
  });

  it("B: hints, blocks and ends a loop, sealed and with every call answered", async () => {
    let ran = 0;
    const events = recorder();
    const model = strict(() => callTools(["look", { q: "same" }]));
    const graph = build({
      model,
      tools: [
        make("look", () => {
          ran++;
          return "same";
        }),
      ],
      events: events.sink,
    });
    const config = newThread();
    const state = await graph.invoke(ask("go"), { ...config, recursionLimit: 100 });
    const last = state.messages.at(-1)!;
    expect(isAssistant(last) && readSeal(last)).toEqual({ status: "NEEDS_HUMAN", reason: "loop" });
    expect(openCallsOf(state)).toEqual([]);
    expect(ran).toBe(4);
    expect(events.of("loop.blocked")).toHaveLength(1);
    expect(events.of("loop.stop")).toHaveLength(1);
    expect(textsOf(model.requests[3]).at(-1)).toContain("longhaul");
    expect((await valuesOf(graph, config))._longhaulRun).toMatchObject({
      status: "NEEDS_HUMAN",
      stopReason: "loop",
      partial: true,
    });
    const moves = events.of("run.moved").map((event) => ("to" in event ? event.to : ""));
    expect(moves.at(-1)).toBe("NEEDS_HUMAN");
  });

  it("B: a declared poll is no loop before its own limit", async () => {
    let polls = 0;
    const model = strict(({ messages }) =>
      messages.filter(({ role }) => role === "tool").length < 5 ? callTools(["status", {}]) : "ready",
    );
    const events = recorder();
    const graph = build({
      model,
      tools: [
        make("status", () => {
          polls++;
          return "pending";
        }),
      ],
      toolOptions: { status: { effect: "none", poll: { atMost: 8 } } },
      events: events.sink,
    });
    const state = await graph.invoke(ask("wait"), { ...newThread(), recursionLimit: 100 });
    expect(messageText(state.messages.at(-1)!)).toBe("ready");
    expect([polls, events.of("loop.hint").length]).toEqual([5, 0]);
  });

  it("asks again after an empty answer, and stores none", async () => {
    const model = strict(["", "", "here"]);
    const graph = build({ model, tools: [] });
    const config = newThread();
    const state = await graph.invoke(ask("go"), config);
    expect(state.messages.map((message) => messageText(message))).toEqual(["go", "here"]);
    expect((await valuesOf(graph, config))._longhaulRun).toMatchObject({ status: "COMPLETED", step: 1 });

    const mute = build({ model: strict(() => ""), tools: [] });
    const ended = (await mute.invoke(ask("go"), newThread())).messages.at(-1)!;
    expect(isAssistant(ended) && readSeal(ended)).toEqual({ status: "NEEDS_HUMAN", reason: "empty" });
  });

  it("E: one closing call without tools, then PAUSED; a larger limit goes on", async () => {
    const saver = new MemorySaver();
    const storage = memoryStorage();
    const config = newThread();
    const build_ = (modelCalls: number, script = reading as typeof reading | string[]) => {
      const model = strict(script);
      const tools = [make("look", (q) => `text of ${q}`), make("extra", () => "x")];
      const limits = { modelCalls, tokens: 1_000_000 };
      return {
        model,
        graph: build(
          { model, tools, storage, budget: { limits }, toolOptions: { extra: { optional: true } } },
          saver,
        ),
      };
    };
    const first = build_(6);
    const state = await first.graph.invoke(ask("read"), { ...config, recursionLimit: 100 });
    expect(first.model.requests.at(-1)?.tools).toEqual([]);
    const offered = first.model.requests.map(({ tools }) =>
      tools.some((entry) => entry.function.name === "extra"),
    );
    expect(offered).toContain(false);
    expect(messageText(state.messages.at(-1)!)).toContain("Partial");
    const run = readRunState((await valuesOf(first.graph, config))._longhaulRun);
    expect(run).toMatchObject({ status: "PAUSED", stopReason: "budget:modelCalls", partial: true });
    expect(first.model.requests.length).toBeLessThanOrEqual(6);

    const second = build_(40, ["All read."]);
    const after = await second.graph.invoke(ask("go on"), config);
    expect(messageText(after.messages.at(-1)!)).toBe("All read.");
  });

  it("E: calls of tools draw on the budget that the model's calls draw on, without a storage too", async () => {
    const model = strict(reading);
    const graph = build({ model, tools: [make("look", (q) => q)], budget: { limits: { toolCalls: 4 } } });
    const config = newThread();
    await graph.invoke(ask("read"), { ...config, recursionLimit: 100 });
    const { _longhaulRun, _longhaulBudget } = (await valuesOf(graph, config)) as Record<string, unknown>;
    expect(_longhaulRun).toMatchObject({ status: "PAUSED", stopReason: "budget:toolCalls" });
    expect(_longhaulBudget).toMatchObject({ totals: { toolCalls: 4 } });
  });

  const endless = () => {
    const model = strict(reading);
    const tools = [make("look", (q) => `text of ${q}`)];
    return { model, graph: build({ model, tools, loops: false, progress: false }) };
  };

  it.each([3, 7, 15])(
    "E10: refuses a recursion limit of %i before the first call: no step and its end fit",
    async (recursionLimit) => {
      const { model, graph } = endless();
      const outcome = graph.invoke(ask("read"), { ...newThread(), recursionLimit });
      await expect(outcome).rejects.toSatisfy(BudgetTooSmallError.isInstance);
      expect(model.requests).toHaveLength(0);
    },
  );

  it.each([16, 17, 18, 19, 24, 25, 26, 60])(
    "E10: ends decently at a recursion limit of %i, turn after turn",
    async (recursionLimit) => {
      const { model, graph } = endless();
      const config = { ...newThread(), recursionLimit };
      for (let turn = 1; turn <= 2; turn++) {
        const before = model.requests.length;
        await graph.invoke(ask("read"), config);
        const values = await valuesOf(graph, config);
        expect(values._longhaulRun).toMatchObject({
          status: "PAUSED",
          stopReason: "step_limit",
          partial: true,
        });
        expect(openCallsOf(values)).toEqual([]);
        // Four supersteps a step, and some room left free on the safe side.
        expect(model.requests.length - before).toBeGreaterThanOrEqual(Math.floor(recursionLimit / 4) - 3);
      }
    },
  );

  it("checkpoint and reset: the next request holds goal and checkpoint and nothing of before", async () => {
    const progress = {
      goal: "Find the price.",
      facts: [{ text: "The price is 42.", source: "look" }],
      done: ["read the page"],
      todo: ["report"],
    };
    const model = strict([
      callTools(["look", { q: "price" }]),
      callTools(["checkpoint", progress], ["reset", {}]),
      "The price is 42.",
    ]);
    const graph = build({ model, tools: [make("look", () => "price: 42, and much else of no use")] });
    const config = newThread();
    const state = await graph.invoke(ask("Find the price."), config);
    const last = textsOf(model.requests.at(-1)).join("\n");
    expect(last).toContain("Find the price.");
    expect(last).toContain("The price is 42.");
    expect(last).not.toContain("much else of no use");
    expect(state.messages).toHaveLength(7);
    expect((await valuesOf(graph, config))._longhaulMemory?.epoch).toBe(1);
  });

  it("folds, and recall reads back what left the view", async () => {
    const page = (n: number) =>
      `Page ${n}. Serial SN-${1000 + n}. ${`Filler number ${n} goes here. `.repeat(60)}`;
    const recalled: string[] = [];
    let n = 0;
    const script = (request: ScriptRequest) => {
      if (n < 12) return callTools(["look", { q: String(++n) }]);
      if (n === 12) {
        n++;
        return callTools(["recall", { search: "SN-1001" }]);
      }
      recalled.push(JSON.stringify(request.messages.at(-1)));
      return "done";
    };
    const model = strict(script);
    const graph = build({
      model,
      tools: [make("look", (q) => page(Number(q)))],
      context: { softLimit: 2_000 },
      progress: false,
    });
    const config = newThread();
    const state = await graph.invoke(ask("Read all pages."), { ...config, recursionLimit: 200 });
    expect(messageText(state.messages.at(-1)!)).toBe("done");
    expect((await valuesOf(graph, config))._longhaulMemory?.summaries.length).toBeGreaterThan(0);
    expect(textsOf(model.requests.at(-2)).join("\n")).not.toContain("Filler number 1 goes here");
    expect(recalled[0]).toContain("SN-1001");
  });
});

describe("createLonghaulGraph taken up again", () => {
  const script = ({ messages }: ScriptRequest) => {
    const results = messages.filter(({ role }) => role === "tool").length;
    return results === 0
      ? callTools(["charge", { q: "7" }], ["look", { q: "a" }])
      : results === 2
        ? callTools(["look", { q: "b" }])
        : "done";
  };
  const world = () => {
    const charges: string[] = [];
    const tools = [make("charge", (q) => `charged ${charges.push(q)}`), make("look", (q) => `saw ${q}`)];
    return { charges, tools };
  };

  it("goes on after a throw at any moment of any node", async () => {
    const { tools } = world();
    const plain = await build({ model: strict(script), tools }).invoke(ask("go"), newThread());
    let failures = 0;
    for (let at = 1; at < 200; at++) {
      const { charges, tools } = world();
      let ticks = 0;
      // The clock is read by every node; the one moment at which it throws goes through all of them.
      const clock = {
        ...systemClock,
        now: () => {
          if (++ticks === at) throw new Error("clock failed");
          return systemClock.now();
        },
      };
      const graph = build({
        model: strict(script),
        tools,
        deps: { clock },
        storage: memoryStorage(),
        toolGuard: false,
      });
      const config = newThread();
      let state: { messages: BaseMessage[] };
      try {
        state = await graph.invoke(ask("go"), config);
        if (ticks < at) break;
      } catch {
        failures++;
        state = await graph.invoke(null, config);
      }
      expect(charges.length, `failure at ${at}`).toBeLessThanOrEqual(1);
      expect(messageText(state.messages.at(-1)!), `failure at ${at}`).toBe("done");
      expect(state.messages.length, `failure at ${at}`).toBe(plain.messages.length);
      expect(openCallsOf(state)).toEqual([]);
    }
    expect(failures).toBeGreaterThan(5);
  });

  it.each(["guard", "context", "model", "tools"] as const)(
    "shows the resume note once when it stopped before %s",
    async (node) => {
      const { tools } = world();
      const model = strict(script);
      const graph = createLonghaulGraph({ model, tools }).compile({ checkpointer: new MemorySaver() });
      const config = newThread();
      await graph.invoke(ask("go"), { ...config, interruptBefore: [node] });
      const before = model.requests.length;
      const longhaul_resume = { note: "Resumed at step 1.", lastFailure: "NETWORK: gone" };
      const state = await graph.invoke(null, { configurable: { ...config.configurable, longhaul_resume } });
      expect(messageText(state.messages.at(-1)!)).toBe("done");
      const shown = model.requests.map((request) =>
        textsOf(request).join("\n").includes("Resumed at step 1."),
      );
      expect(shown.filter(Boolean)).toHaveLength(1);
      expect(shown.indexOf(true)).toBe(before);
      const run = readRunState((await valuesOf(graph, config))._longhaulRun);
      expect(run).toMatchObject({ status: "COMPLETED", resumes: 1 });
      expect(run.lastFailure).toBeUndefined();
    },
  );

  it("C1: a question beside a charge: the charge is not run again, the answer reaches its call", async () => {
    const { charges, tools } = world();
    const question = make("ask", (q) => `${q}: ${interrupt(q) as string}`);
    const model = strict([callTools(["charge", { q: "1" }], ["ask", { q: "Sure?" }]), "done"]);
    const graph = build({ model, tools: [...tools, question] });
    const config = newThread();
    await graph.invoke(ask("go"), config);
    expect((await graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts)).toHaveLength(1);
    const state = await graph.invoke(new Command({ resume: "yes" }), config);
    expect(resultsOf(state).map(({ content }) => content)).toEqual(["charged 1", "Sure?: yes"]);
    expect(charges).toHaveLength(1);
  });

  it("no tool runs in a run that is over", async () => {
    const { charges, tools } = world();
    const graph = build({ model: strict([callTools(["charge", { q: "7" }])]), tools });
    const config = newThread();
    await graph.invoke(ask("go"), { ...config, interruptBefore: ["tools"] });
    expect((await valuesOf(graph, config))._longhaulRun).toMatchObject({ status: "WAITING_TOOL" });
    const over = { v: 1, status: "NEEDS_HUMAN", stopReason: "loop", step: 1, since: 1, resumes: 0 };
    await graph.updateState(config, { _longhaulRun: over } as never, "model");
    await expect(graph.invoke(null, config)).rejects.toMatchObject({ code: "FORBIDDEN_MOVE" });
    expect(charges).toEqual([]);
  });
});

describe("createLonghaulGraph in its surroundings", () => {
  it("is a subgraph of a parent, whose state it does not touch beyond messages", async () => {
    const model = strict(({ messages }) =>
      messages.at(-1)?.role === "tool" ? "answered" : callTools(["look", { q: "a" }]),
    );
    const agent = createLonghaulGraph({ model, tools: [make("look", (q) => `saw ${q}`)] }).compile();
    const parent = new StateGraph(MessagesAnnotation)
      .addNode("before", () => ({}))
      .addNode("agent", agent)
      .addEdge(START, "before")
      .addEdge("before", "agent")
      .addEdge("agent", END)
      .compile({ checkpointer: new MemorySaver() });
    const config = newThread();
    for (const turns of [1, 2]) {
      const state = await parent.invoke(ask("again"), config);
      expect(state.messages).toHaveLength(4 * turns);
      expect(Object.keys((await parent.getState(config)).values)).toEqual(["messages"]);
    }
  });

  it("E10: inside a subgraph with the parent's limit", async () => {
    for (const recursionLimit of [16, 21, 25, 40]) {
      const model = strict(reading);
      const agent = createLonghaulGraph({ model, tools: [make("look", (q) => q)], loops: false }).compile();
      const parent = new StateGraph(MessagesAnnotation)
        .addNode("agent", agent)
        .addEdge(START, "agent")
        .addEdge("agent", END)
        .compile();
      const state = await parent.invoke(ask("read"), { recursionLimit });
      const last = state.messages.at(-1)!;
      expect(isAssistant(last) && readSeal(last)).toMatchObject({ status: "PAUSED", reason: "step_limit" });
    }
  });

  it("streams the model's tokens, none of the summariser's", async () => {
    const summarizer = strict(() => "SUMMARY words that nobody may see");
    let n = 0;
    const model = strict(() => (n++ < 8 ? callTools(["look", { q: String(n) }]) : "the very end"));
    const graph = build({
      model,
      summarizer,
      tools: [make("look", (q) => `Page ${q}: ${"words and words ".repeat(80)}`)],
      context: { softLimit: 1_000 },
      progress: false,
      loops: false,
    });
    const tokens: string[] = [];
    const nodes = new Set<string>();
    const stream = await graph.stream(ask("read"), {
      ...newThread(),
      recursionLimit: 100,
      streamMode: ["messages", "updates"],
    });
    for await (const [mode, chunk] of stream) {
      if (mode === "messages") tokens.push(messageText((chunk as unknown as [BaseMessage])[0]));
      else for (const node of Object.keys(chunk as object)) nodes.add(node);
    }
    expect(summarizer.requests.length).toBeGreaterThan(0);
    expect(tokens.join("")).toContain("the very end");
    expect(tokens.filter((token) => token.trim() === "very")).toHaveLength(1);
    expect(tokens.join("")).not.toContain("SUMMARY");
    expect([...nodes].sort()).toEqual(["context", "guard", "model", "tools"]);
  });

  it("reads well in a graph viewer: four nodes with descriptions, the edges of the loop", async () => {
    const graph = build({ model: strict(["x"]), tools: [] });
    const drawn = await graph.getGraphAsync();
    const nodes = Object.values(drawn.nodes).filter(({ id }) => !id.startsWith("__"));
    expect(nodes.map(({ id }) => id)).toEqual(["guard", "context", "model", "tools"]);
    for (const node of nodes) expect(node.metadata?.description).toMatch(/^[A-Z].{15,80}$/);
    const edges = drawn.edges.map(
      ({ source, target, conditional }) => `${source}${conditional ? " -?" : " -"}> ${target}`,
    );
    expect(edges.sort()).toEqual([
      "__start__ -> guard",
      "context -> model",
      "guard -?> __end__",
      "guard -?> context",
      "model -?> __end__",
      "model -?> tools",
      "tools -> guard",
    ]);
    expect(drawn.drawMermaid()).toContain("model");
  });

  it("refuses options that cannot work at once", () => {
    const model = strict(["x"]);
    const bad: Partial<LonghaulGraphOptions>[] = [
      { context: { softLimit: -1 } },
      { budget: { limits: { tokens: -5 } } },
      { loops: { nudges: -1 } },
      { progress: { maxCharacters: 1 } },
      { toolOptions: { pay: { effect: "query" } } },
      { softLimit: 4_000 } as never,
      { context: { softlimit: 4_000 } as never },
    ];
    for (const options of bad) {
      expect(() => createLonghaulGraph({ model, tools: [], ...options }), JSON.stringify(options)).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/INVALID_OPTIONS|BUDGET_TOO_SMALL/) }) as Error,
      );
    }
  });
});

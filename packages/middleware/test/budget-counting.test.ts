import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { budgetOf, type LonghaulEvent, memoryStorage } from "@longhaul/core";
import { callTools, fakeClock, type Reply, type ScriptRequest, StrictChatModel } from "@longhaul/test-kit";
import { createAgent, modelRetryMiddleware, tool } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { budgetMiddleware, runStatusMiddleware } from "../src/index.ts";

interface TestAgent {
  invoke(input: unknown, config: unknown): Promise<{ messages: BaseMessage[]; __interrupt__?: unknown }>;
  stream(input: unknown, config: unknown): Promise<AsyncIterable<[string, unknown]>>;
  graph: { getState(config: unknown): Promise<{ values: Record<string, unknown> }> };
}

const KEY = { thread: "t", run: "t:1" };
const human = (content: string) => ({ messages: [{ role: "user", content }] });
const config = { configurable: { thread_id: "t" }, recursionLimit: 100 };
const spending = (inputTokens: number) => ({ usage: { inputTokens, outputTokens: 1, cachedTokens: 0 } });
/** A reply that costs this many tokens in all. */
const costing = (tokens: number, reply: object): Reply => ({ ...reply, ...spending(tokens - 1) });

describe("E6 subagents", () => {
  function tree() {
    const storage = memoryStorage();
    const grandchild = createAgent({
      model: new StrictChatModel({ script: () => costing(30, { content: "grandchild done" }) }),
      tools: [],
      name: "grandchild",
    });
    const askGrandchild = tool(
      async () => (await grandchild.invoke(human("deep") as never)).messages.at(-1)?.text ?? "",
      { name: "ask_grandchild", description: "asks", schema: z.object({}) },
    );
    const approve = tool(async () => `approved: ${interrupt("may I?")}`, {
      name: "approve",
      description: "asks a person",
      schema: z.object({}),
    });
    let childCalls = 0;
    const child = createAgent({
      model: new StrictChatModel({
        script: () => {
          childCalls += 1;
          if (childCalls === 1) return costing(50, callTools(["ask_grandchild"]));
          if (childCalls === 2) return costing(50, callTools(["approve"]));
          return costing(50, { content: "child done" });
        },
      }),
      tools: [askGrandchild, approve],
      name: "child",
      checkpointer: true,
    } as never) as unknown as TestAgent;
    const delegate = tool(
      // A forked child: it starts with a copy of the parent's messages, usage fields and all, and hands its last one back.
      async () => {
        const inherited = new AIMessage({
          content: "inherited",
          usage_metadata: { input_tokens: 999, output_tokens: 9, total_tokens: 1008 },
        } as never);
        const { messages } = await child.invoke(
          { messages: [...human("sub").messages, inherited, ...human("go on").messages] },
          undefined,
        );
        return messages.at(-1)?.text ?? "";
      },
      { name: "delegate", description: "delegates", schema: z.object({}) },
    );
    let parentCalls = 0;
    const parent = createAgent({
      model: new StrictChatModel({
        script: () =>
          ++parentCalls === 1 ? costing(100, callTools(["delegate"])) : costing(100, { content: "done" }),
      }),
      tools: [delegate],
      name: "parent",
      checkpointer: new MemorySaver(),
      middleware: [runStatusMiddleware(), budgetMiddleware({ storage })] as never,
    }) as unknown as TestAgent;
    return { parent, storage };
  }

  it("E6 counts the whole tree once, own totals apart, also across an interrupt and resume", async () => {
    const { parent, storage } = tree();
    await parent.invoke(human("go"), config);
    const before = await storage.budgets.read(KEY);
    expect(before?.byAgent).toMatchObject({ parent: { tokens: 100 }, "tools/child": { tokens: 100 } });
    await parent.invoke(new Command({ resume: "yes" }), config);
    const record = await storage.budgets.read(KEY);
    expect((record?.totals.inputTokens ?? 0) + (record?.totals.outputTokens ?? 0)).toBe(380);
    expect(record?.byAgent).toEqual({
      parent: { calls: 2, tokens: 200 },
      "tools/child": { calls: 3, tokens: 150 },
      "tools/tools/grandchild": { calls: 1, tokens: 30 },
    });
    expect(record?.reservations).toEqual({});
  });

  it("E11 ends a subagent at its own limit, marked partial in what it hands back, and lets the parent go on", async () => {
    const storage = memoryStorage();
    const noop = tool(async () => "noop", { name: "noop", description: "nothing", schema: z.object({}) });
    const child = createAgent({
      model: new StrictChatModel({
        script: (request: ScriptRequest) =>
          request.tools.length === 0
            ? costing(300, { content: "half of it" })
            : costing(900, callTools(["noop"])),
      }),
      tools: [noop],
      middleware: [runStatusMiddleware(), budgetMiddleware({ storage, limits: { tokens: 3_000 } })] as never,
    }) as unknown as TestAgent;
    const delegate = tool(
      async () => {
        const last = (await child.invoke(human("sub"), undefined)).messages.at(-1) as AIMessage;
        return JSON.stringify({ text: last.text, seal: last.response_metadata.longhaul_seal });
      },
      { name: "delegate", description: "delegates", schema: z.object({}) },
    );
    let calls = 0;
    const parent = createAgent({
      model: new StrictChatModel({
        script: () =>
          ++calls === 1 ? costing(100, callTools(["delegate"])) : costing(100, { content: "all right" }),
      }),
      tools: [delegate],
      checkpointer: new MemorySaver(),
      middleware: [runStatusMiddleware(), budgetMiddleware({ storage })] as never,
    }) as unknown as TestAgent;
    const { messages } = await parent.invoke(human("go"), config);
    expect(messages.at(-1)?.text).toBe("all right");
    expect(JSON.parse(messages.at(-2)?.text as string)).toEqual({
      text: "half of it",
      seal: { status: "PAUSED", reason: "budget:tokens" },
    });
    const record = await storage.budgets.read(KEY);
    // Parent 2 × 100; the child 2 × 900, as a third would not leave room for its closing call of 300.
    expect((record?.totals.inputTokens ?? 0) + (record?.totals.outputTokens ?? 0)).toBe(200 + 1_800 + 300);
  });
});

describe("counting through createAgent", () => {
  it("E1 ends a run whose provider reports nothing by the fourth answer of 3,000 tokens", async () => {
    const broken: Reply[] = [
      { content: "w".repeat(12_000), toolCalls: [{ name: "noop", args: {} }], usage: null },
      {
        content: "w".repeat(12_000),
        toolCalls: [{ name: "noop", args: {} }],
        usage: { inputTokens: Number.NaN, outputTokens: Number.NaN },
      },
      {
        content: "w".repeat(12_000),
        toolCalls: [{ name: "noop", args: {} }],
        usage: { inputTokens: "812" as never, outputTokens: -3 },
      },
    ];
    const noop = tool(async () => "noop", { name: "noop", description: "nothing", schema: z.object({}) });
    const model = new StrictChatModel({ script: [...broken, () => "closing", () => "never"] });
    const agent = createAgent({
      model,
      tools: [noop],
      checkpointer: new MemorySaver(),
      middleware: [runStatusMiddleware(), budgetMiddleware({ limits: { tokens: 10_000 } })] as never,
    }) as unknown as TestAgent;
    await agent.invoke(human("go"), config);
    expect(model.requests.length).toBeLessThanOrEqual(4);
    const { values } = await agent.graph.getState(config);
    expect(values._longhaulRun).toMatchObject({ status: "PAUSED", stopReason: "budget:tokens" });
    const report = budgetOf(values);
    expect(Object.values(report?.totals ?? {}).every(Number.isFinite)).toBe(true);
    expect(report?.estimatedShare).toBeGreaterThan(0.8);
  });

  it("E1 in strict mode stops instead of estimating", async () => {
    const noop = tool(async () => "noop", { name: "noop", description: "nothing", schema: z.object({}) });
    const model = new StrictChatModel({ script: () => ({ ...callTools(["noop"]), usage: null }) });
    const agent = createAgent({
      model,
      tools: [noop],
      checkpointer: new MemorySaver(),
      middleware: [runStatusMiddleware(), budgetMiddleware({ strict: true })] as never,
    }) as unknown as TestAgent;
    await agent.invoke(human("go"), config);
    expect(model.requests).toHaveLength(1);
    expect((await agent.graph.getState(config)).values._longhaulRun).toMatchObject({
      stopReason: "budget:unmeasured",
    });
  });

  it("E7 counts a failed try inside a retry, and streaming counts the same", async () => {
    const storage = memoryStorage();
    const model = new StrictChatModel({
      script: [() => new Error("flaky"), () => costing(60, { content: "done" })],
    });
    const agent = createAgent({
      model,
      tools: [],
      checkpointer: new MemorySaver(),
      middleware: [
        runStatusMiddleware(),
        budgetMiddleware({ storage }),
        modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 0 }),
      ] as never,
    }) as unknown as TestAgent;
    for await (const _chunk of await agent.stream(human("go"), { ...config, streamMode: ["messages"] })) {
      // Only the counting matters.
    }
    const record = await storage.budgets.read(KEY);
    expect(record?.byKind).toEqual({ turn: { calls: 1, tokens: 0 }, retry: { calls: 1, tokens: 60 } });
    expect(record?.totals).toMatchObject({ modelCalls: 2, agentSteps: 1 });
    expect(record?.reservations).toEqual({});
  });

  it("E5 lets parallel subagents together take no more than there is; the refused ones end with a report", async () => {
    const storage = memoryStorage();
    const child = () =>
      createAgent({
        model: new StrictChatModel({ script: () => costing(700, { content: "child done" }) }),
        tools: [],
        middleware: [budgetMiddleware({ storage, limits: { tokens: 2_000 } })] as never,
      }) as unknown as TestAgent;
    const delegate = tool(
      async () => (await child().invoke(human("w".repeat(2_000)), undefined)).messages.at(-1)?.text ?? "",
      {
        name: "delegate",
        description: "delegates",
        schema: z.object({}),
      },
    );
    let calls = 0;
    const model = new StrictChatModel({
      script: () =>
        ++calls === 1
          ? costing(100, callTools(...[1, 2, 3, 4, 5].map(() => ["delegate"] as const)))
          : costing(100, { content: "done" }),
    });
    const parent = createAgent({
      model,
      tools: [delegate],
      checkpointer: new MemorySaver(),
      middleware: [budgetMiddleware({ storage, limits: { tokens: 2_700 } })] as never,
    }) as unknown as TestAgent;
    const { messages } = await parent.invoke(human("go"), config);
    const results = messages.filter((message) => message.getType() === "tool").map((message) => message.text);
    // 2,700 less the reserve are 2,295; 100 are spent; a child asks for about 1,000.
    expect(results.filter((text) => text === "child done")).toHaveLength(2);
    expect(results.filter((text) => text.includes("token budget is used up"))).toHaveLength(3);
    expect(messages.at(-1)?.text).toBe("done");
  });

  it("refuses tool calls above their limit with an error result, and counts the others", async () => {
    let ran = 0;
    const count = tool(async () => String(++ran), {
      name: "count",
      description: "counts",
      schema: z.object({}),
    });
    let calls = 0;
    const model = new StrictChatModel({
      script: () => (++calls === 1 ? callTools(["count"], ["count"], ["count"]) : "done"),
    });
    const agent = createAgent({
      model,
      tools: [count],
      checkpointer: new MemorySaver(),
      middleware: [
        runStatusMiddleware(),
        budgetMiddleware({ limits: { toolCalls: 2 }, reserve: 0 }),
      ] as never,
    }) as unknown as TestAgent;
    const { messages } = await agent.invoke(human("go"), config);
    expect(ran).toBe(2);
    const refused = messages.filter((message) => (message as { status?: string }).status === "error");
    expect(refused).toHaveLength(1);
    expect(refused[0]?.text).toContain("all 2 tool calls");
  });

  it("E9 does not count the time in which a person is waited for", async () => {
    const clock = fakeClock();
    const storage = memoryStorage({ clock });
    const work = tool(
      async ({ minutes, ask }) => {
        const answer = ask ? interrupt("go on?") : "";
        await clock.advance(minutes * 60_000);
        return `worked ${answer}`;
      },
      { name: "work", description: "works", schema: z.object({ minutes: z.number(), ask: z.boolean() }) },
    );
    const steps = [
      callTools(["work", { minutes: 3, ask: false }]),
      callTools(["work", { minutes: 2, ask: true }]),
      "done",
    ];
    let step = 0;
    const agent = createAgent({
      model: new StrictChatModel({ script: () => steps[step++] as Reply }),
      tools: [work],
      checkpointer: new MemorySaver(),
      middleware: [
        runStatusMiddleware({ deps: { clock } }),
        budgetMiddleware({ storage, deps: { clock }, limits: { timeMs: 600_000 } }),
      ] as never,
    }) as unknown as TestAgent;
    const waiting = await agent.invoke(human("go"), config);
    expect(waiting.__interrupt__).toBeDefined();
    await clock.advance(22 * 3_600_000);
    await agent.invoke(new Command({ resume: "yes" }), config);
    expect((await storage.budgets.read(KEY))?.totals.activeMs).toBe(300_000);
    expect((await agent.graph.getState(config)).values._longhaulRun).toMatchObject({ status: "COMPLETED" });
  });

  it("says in events where and when, for calls that the meter reports too", async () => {
    const events: LonghaulEvent[] = [];
    const agent = createAgent({
      model: new StrictChatModel({ script: () => "done" }),
      tools: [],
      checkpointer: new MemorySaver(),
      middleware: [budgetMiddleware({ events: (event) => events.push(event) })] as never,
    }) as unknown as TestAgent;
    await agent.invoke(human("go"), config);
    expect(events.map((event) => event.type)).toEqual([
      "budget.recursion_limit",
      "model.call",
      "budget.step",
    ]);
    expect(
      events.every((event) => event.threadId === "t" && event.namespace.startsWith("model_request:")),
    ).toBe(true);
  });
});

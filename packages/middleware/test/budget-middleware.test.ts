import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { BudgetTooSmallError, budgetOf, type LonghaulEvent, memoryStorage } from "@longhaul/core";
import { checkRequest, type Reply, type ScriptRequest, StrictChatModel, wireText } from "@longhaul/test-kit";
import { createAgent, createMiddleware, tool, toolStrategy } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type BudgetMiddlewareOptions, budgetMiddleware, runStatusMiddleware } from "../src/index.ts";

const search = tool(async ({ q }) => `Result ${q}: the fact of step ${q} is F-${q}.`, {
  name: "search",
  description: "Finds facts",
  schema: z.object({ q: z.string() }),
});
const extra = tool(async () => "extra", { name: "extra", description: "Optional", schema: z.object({}) });

const isClosing = (request: ScriptRequest) => textOf(request).includes("This is the last answer of this run");
const textOf = (request: ScriptRequest) => request.messages.map(wireText).join("\n");

let models = 0;
/** Calls the tool for ever; at the closing call answers with every fact in sight. */
function stubborn(
  usage?: (request: ScriptRequest, call: number) => { inputTokens: number; outputTokens: number },
) {
  let calls = 0;
  const prefix = `m${++models}-`;
  return (request: ScriptRequest): Reply => {
    calls += 1;
    const reported = usage ? { usage: usage(request, calls) } : {};
    if (isClosing(request)) {
      const facts = [...new Set(textOf(request).match(/F-\d+/g))];
      return { content: `Facts: ${facts.join(", ")}.`, ...reported };
    }
    return {
      content: `step ${calls}`,
      toolCalls: [{ name: "search", args: { q: String(calls) }, id: `${prefix}${calls}` }],
      ...reported,
    };
  };
}

function agentWith(
  script: (request: ScriptRequest) => Reply | Promise<Reply>,
  options: BudgetMiddlewareOptions = {},
  more: {
    middleware?: readonly unknown[];
    outer?: readonly unknown[];
    responseFormat?: unknown;
    tools?: unknown[];
  } = {},
) {
  const events: LonghaulEvent[] = [];
  const storage = options.storage ?? memoryStorage();
  const model = new StrictChatModel({ script });
  const agent = createAgent({
    model,
    tools: (more.tools ?? [search]) as never,
    checkpointer: new MemorySaver(),
    middleware: [
      ...(more.outer ?? []),
      runStatusMiddleware({ events: (event) => events.push(event) }),
      budgetMiddleware({ ...options, storage, events: (event) => events.push(event) }),
      ...(more.middleware ?? []),
    ] as never,
    ...(more.responseFormat ? { responseFormat: more.responseFormat as never } : {}),
  });
  return { agent: agent as unknown as TestAgent, model, events, storage };
}

type State = {
  messages: BaseMessage[];
  _longhaulRun: { status: string; stopReason?: string; partial?: boolean };
};
async function stateOf(agent: unknown, config: unknown): Promise<State> {
  const { values } = await (
    agent as { graph: { getState(c: unknown): Promise<{ values: State }> } }
  ).graph.getState(config);
  return values;
}

/** `createAgent` infers its state from a tuple of middleware; tests build theirs from lists. */
interface TestAgent {
  invoke(
    input: unknown,
    config: unknown,
  ): Promise<{ messages: BaseMessage[]; structuredResponse?: unknown; __interrupt__?: unknown }>;
}

const human = (content: string) => ({ messages: [{ role: "user", content }] });
const onThread = (recursionLimit = 200) => ({ configurable: { thread_id: "t" }, recursionLimit });

describe("step limit", () => {
  for (const limit of [25, 24, 7, 6]) {
    it(`E10 ends with an answer before recursionLimit ${limit}, and goes on with "continue"`, async () => {
      const { agent, model } = agentWith(stubborn());
      const config = onThread(limit);
      const result = await agent.invoke(human("find all facts"), config);
      const last = result.messages.at(-1) as AIMessage;
      const steps = model.requests.length;
      expect(last.tool_calls ?? []).toEqual([]);
      for (let step = 1; step < steps; step++) expect(last.text).toContain(`F-${step}`);
      expect(model.requests.at(-1)?.tools).toEqual([]);
      const state = await stateOf(agent, config);
      expect(state._longhaulRun).toMatchObject({ status: "PAUSED", stopReason: "step_limit", partial: true });
      await agent.invoke(human("continue"), config);
      expect(model.requests.length).toBeGreaterThan(steps + 1);
      expect((await stateOf(agent, config))._longhaulRun).toMatchObject({ stopReason: "step_limit" });
    });
  }

  it("E10 uses nearly all of the limit", async () => {
    const { agent, model } = agentWith(stubborn());
    await agent.invoke(human("go"), onThread(25));
    expect(model.requests.length).toBe(12);
  });

  it("E10 refuses a recursionLimit that is too small, before any call", async () => {
    const { agent, model } = agentWith(stubborn());
    const error = await agent.invoke(human("go"), onThread(3)).catch((thrown: unknown) => thrown);
    const causes: unknown[] = [];
    for (let at: unknown = error; at; at = (at as { cause?: unknown }).cause) causes.push(at);
    expect(causes.some(BudgetTooSmallError.isInstance)).toBe(true);
    expect(model.requests.length).toBe(0);
  });

  const hook = (name: string, hooks: object) => createMiddleware({ name, ...hooks } as never);
  const shapes: Record<string, readonly unknown[]> = {
    "before-model": [hook("b1", { beforeModel: () => undefined })],
    "after-model": [hook("a1", { afterModel: () => undefined })],
    "before and after, twice": [
      hook("x", { beforeModel: () => undefined, afterModel: () => undefined }),
      hook("y", { beforeModel: () => undefined, afterModel: () => undefined }),
    ],
    "before-agent": [hook("z", { beforeAgent: () => undefined })],
  };
  for (const [shape, middleware] of Object.entries(shapes)) {
    for (const limit of [18, 25, 31, 40]) {
      it(`E10 with ${shape} nodes and recursionLimit ${limit}`, async () => {
        const { agent } = agentWith(stubborn(), {}, { middleware });
        await agent.invoke(human("go"), onThread(limit));
        await agent.invoke(human("continue"), onThread(limit));
        expect((await stateOf(agent, onThread()))._longhaulRun.stopReason).toBe("step_limit");
      });
    }
  }

  it("E10 names the setting that is too small", async () => {
    const { agent, events } = agentWith(stubborn());
    await agent.invoke(human("go"), onThread(25));
    const told = events.filter((event) => event.type === "budget.recursion_limit");
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ recursionLimit: 25, modelCalls: 12 });
  });
});

describe("levels", () => {
  const usage = (request: ScriptRequest) =>
    isClosing(request)
      ? { inputTokens: 900, cachedTokens: 0, outputTokens: 300 }
      : { inputTokens: 800, cachedTokens: 0, outputTokens: 100 };

  it("E11 fires levels in order, once, and closes within the limit", async () => {
    const { agent, model, events, storage } = agentWith(stubborn(usage), { limits: { tokens: 10_000 } });
    const result = await agent.invoke(human("go"), onThread());
    const levels = events.filter((event) => event.type === "budget.level").map((event) => event.level);
    expect(levels).toEqual(["economy", "essential", "wrap-up"]);
    const notices = model.requests.map(
      ({ messages }) => (String(messages.at(-1)?.text).match(/kind="budget"/g) ?? []).length,
    );
    expect(notices).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 0, 2]);
    const record = await storage.budgets.read({ thread: "t", run: "t:1" });
    expect(record?.totals).toMatchObject({
      inputTokens: 8_100,
      cachedTokens: 0,
      outputTokens: 1_200,
      modelCalls: 10,
    });
    expect((result.messages.at(-1) as AIMessage).text).toContain("F-9");
    expect((await stateOf(agent, onThread()))._longhaulRun).toMatchObject({
      status: "PAUSED",
      stopReason: "budget:tokens",
      partial: true,
    });
    expect(budgetOf(await stateOf(agent, onThread()))).toMatchObject({ level: "wrap-up", estimatedShare: 0 });
    // No notice is stored.
    expect(JSON.stringify(result.messages)).not.toContain("longhaul-notice");
  });

  it("E11 strips a stray tool call from the closing answer and keeps its text", async () => {
    const script = (request: ScriptRequest): Reply => ({
      content: isClosing(request) ? "Partial: F-1." : "working",
      toolCalls: [{ name: "search", args: { q: "1" } }],
      usage: { inputTokens: 3_000, cachedTokens: 0, outputTokens: 300 },
    });
    const { agent } = agentWith(script, { limits: { tokens: 10_000 } });
    const result = await agent.invoke(human("go"), onThread());
    const last = result.messages.at(-1) as AIMessage;
    expect(last.text).toBe("Partial: F-1.");
    expect(last.tool_calls ?? []).toEqual([]);
    expect(checkRequest(result.messages, {})).toBeUndefined();
    expect(new Set(result.messages.map((message) => message.id)).size).toBe(result.messages.length);
  });

  it("E11 puts a report in the place of a closing answer that is only a tool call", async () => {
    const script = (request: ScriptRequest): Reply => ({
      content: isClosing(request) ? "" : "I looked at step one",
      toolCalls: [{ name: "search", args: { q: "1" } }],
      usage: { inputTokens: 3_000, cachedTokens: 0, outputTokens: 300 },
    });
    const { agent } = agentWith(script, { limits: { tokens: 10_000 } });
    const result = await agent.invoke(human("go"), onThread());
    expect((result.messages.at(-1) as AIMessage).text).toMatch(
      /token budget is used up[\s\S]*I looked at step one/,
    );
  });

  it("E11 stops with a report when not even the closing call fits", async () => {
    const script = (): Reply => ({
      content: "I have found F-1",
      toolCalls: [{ name: "search", args: { q: "1" } }],
      usage: { inputTokens: 9_900, cachedTokens: 0, outputTokens: 200 },
    });
    const { agent, model } = agentWith(script, { limits: { tokens: 10_000 } });
    const result = await agent.invoke(human("go"), onThread());
    expect(model.requests).toHaveLength(1);
    expect((result.messages.at(-1) as AIMessage).text).toContain("I have found F-1");
    expect((await stateOf(agent, onThread()))._longhaulRun).toMatchObject({
      status: "PAUSED",
      stopReason: "budget:tokens",
    });
  });

  it("E11 withholds optional tools and uses the cheaper model from essential on", async () => {
    const cheap = new StrictChatModel({ script: stubborn(usage), name: "cheap" });
    // Steps of 450 tokens: essential (7,225) is reached well before wrap-up (8,075).
    const half = (request: ScriptRequest) =>
      isClosing(request)
        ? { inputTokens: 900, cachedTokens: 0, outputTokens: 300 }
        : { inputTokens: 400, cachedTokens: 0, outputTokens: 50 };
    const { agent, model } = agentWith(
      stubborn(half),
      { limits: { tokens: 10_000 }, cheaperModel: cheap, tools: { extra: { optional: true } } },
      { tools: [search, extra] },
    );
    await agent.invoke(human("go"), onThread());
    expect(model.requests.length).toBe(17);
    expect(model.requests.every((request) => request.tools.length === 2)).toBe(true);
    expect(cheap.requests[0]?.tools.map((each) => each.function.name)).toEqual(["search"]);
    expect(cheap.requests.at(-1)?.tools).toEqual([]);
  });

  it("E11 keeps structured output in the closing call", async () => {
    const Answer = z.object({ facts: z.array(z.string()) });
    const script = (request: ScriptRequest): Reply => {
      const output = request.tools.find((each) => each.function.name.startsWith("extract-"));
      return isClosing(request)
        ? {
            content: "",
            toolCalls: [{ name: output?.function.name as string, args: { facts: ["F-1"] } }],
            usage: { inputTokens: 900, cachedTokens: 0, outputTokens: 100 },
          }
        : {
            content: "",
            toolCalls: [{ name: "search", args: { q: "1" } }],
            usage: { inputTokens: 3_000, cachedTokens: 0, outputTokens: 300 },
          };
    };
    const inner = createMiddleware({ name: "inner", wrapModelCall: (request, handler) => handler(request) });
    for (const middleware of [[], [inner]]) {
      const { agent } = agentWith(
        script,
        { limits: { tokens: 10_000 } },
        { responseFormat: toolStrategy(Answer), middleware },
      );
      const result = await agent.invoke(human("go"), onThread());
      expect(result.structuredResponse).toEqual({ facts: ["F-1"] });
      expect((await stateOf(agent, onThread()))._longhaulRun).toMatchObject({
        status: "PAUSED",
        partial: true,
      });
      const calls = result.messages.flatMap((message) => (message as AIMessage).tool_calls ?? []).length;
      expect(result.messages.filter((message) => message.getType() === "tool")).toHaveLength(calls);
    }
  });

  it("E11 raises a limit and goes on in the same thread", async () => {
    const storage = memoryStorage();
    const script = stubborn(usage);
    const { agent } = agentWith(script, { limits: { tokens: 10_000 }, storage });
    await agent.invoke(human("go"), onThread());
    await agent.invoke(human("continue"), onThread());
    expect(await storage.budgets.read({ thread: "t", run: "t:2" })).toBeDefined();
  });
});

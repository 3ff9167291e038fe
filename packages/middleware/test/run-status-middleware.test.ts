import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { type LonghaulEvent, type RunState, sealMessage } from "@longhaul/core";
import {
  callTools,
  fakeClock,
  type Reply,
  type ScriptRequest,
  StrictChatModel,
  wireText,
} from "@longhaul/test-kit";
import { createAgent, createMiddleware, providerStrategy, tool, toolStrategy } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { budgetMiddleware, runStatusMiddleware } from "../src/index.ts";
import { channelSchema } from "../src/shared/channels.ts";
import { commitModelCall, type ModelCallResult } from "../src/shared/commit-model-call.ts";

interface TestAgent {
  invoke(input: unknown, config: unknown): Promise<{ messages: BaseMessage[]; structuredResponse?: unknown }>;
  graph: {
    getState(config: unknown): Promise<{ values: { _longhaulRun: RunState } }>;
    getStateHistory(config: unknown): AsyncIterable<{ values: { _longhaulRun?: RunState } }>;
  };
}

const human = (content: string) => ({ messages: [{ role: "user", content }] });
const config = { configurable: { thread_id: "t" }, recursionLimit: 100 };
const noop = tool(async () => "noop", { name: "noop", description: "nothing", schema: z.object({}) });

function agentWith(
  script: ((request: ScriptRequest) => Reply) | readonly Reply[],
  more: { middleware?: readonly unknown[]; responseFormat?: unknown; profile?: object } = {},
) {
  const clock = fakeClock();
  const events: LonghaulEvent[] = [];
  const model = new StrictChatModel({ script, profile: { ...more.profile } });
  const agent = createAgent({
    model,
    tools: [noop],
    checkpointer: new MemorySaver(),
    middleware: [
      runStatusMiddleware({ events: (event) => events.push(event), deps: { clock } }),
      ...(more.middleware ?? []),
    ] as never,
    ...(more.responseFormat ? { responseFormat: more.responseFormat as never } : {}),
  }) as unknown as TestAgent;
  return { agent, model, clock, events };
}

const runOf = async (agent: TestAgent) => (await agent.graph.getState(config)).values._longhaulRun;

describe("runStatusMiddleware", () => {
  it("follows a run from step to step, and begins anew with a new human turn", async () => {
    const { agent, clock, events } = agentWith([callTools(["noop"]), "done", "again"]);
    await agent.invoke(human("go"), config);
    const seen: (string | undefined)[] = [];
    for await (const { values } of agent.graph.getStateHistory(config))
      seen.push(values._longhaulRun?.status);
    expect(seen.reverse().filter((status, i, all) => status !== all[i - 1])).toEqual([
      "WAITING_TOOL",
      "COMPLETED",
    ]);
    expect(await runOf(agent)).toEqual({
      v: 1,
      status: "COMPLETED",
      step: 2,
      since: clock.now(),
      stopReason: "final_answer",
      resumes: 0,
    });
    const moves = events.flatMap((event) =>
      event.type === "run.moved" ? [`${event.from} ${event.to}`] : [],
    );
    expect(moves).toEqual([
      "INIT RUNNING",
      "RUNNING WAITING_TOOL",
      "WAITING_TOOL RUNNING",
      "RUNNING COMPLETED",
    ]);
    await agent.invoke(human("more"), config);
    expect(await runOf(agent)).toMatchObject({ status: "COMPLETED", step: 3 });
  });

  const Answer = z.object({ sum: z.number() });
  const toCommand = createMiddleware({
    name: "ToCommand",
    stateSchema: channelSchema("_longhaulData"),
    wrapModelCall: async (request, handler) =>
      commitModelCall((await handler(request)) as ModelCallResult, { _longhaulData: { v: 1, entries: {} } }),
  });
  for (const [name, middleware] of [
    ["alone", []],
    ["around a middleware that commits", [toCommand]],
    ["around two", [budgetMiddleware(), toCommand]],
  ] as const) {
    it(`calls structured output final by tool strategy, ${name}`, async () => {
      const script = (request: ScriptRequest): Reply => {
        const output = request.tools.find((each) => each.function.name.startsWith("extract-"));
        return callTools([output?.function.name as string, { sum: 3 }]);
      };
      const { agent } = agentWith(script, { responseFormat: toolStrategy(Answer), middleware });
      expect((await agent.invoke(human("go"), config)).structuredResponse).toEqual({ sum: 3 });
      expect(await runOf(agent)).toMatchObject({ status: "COMPLETED", stopReason: "final_answer" });
    });

    it(`calls structured output final by provider strategy, ${name}`, async () => {
      const { agent } = agentWith(() => '{"sum":3}', {
        responseFormat: providerStrategy(Answer),
        middleware,
      });
      expect((await agent.invoke(human("go"), config)).structuredResponse).toEqual({ sum: 3 });
      expect(await runOf(agent)).toMatchObject({ status: "COMPLETED" });
    });

    it(`takes the status of a sealed end made without a call, ${name}`, async () => {
      const guard = createMiddleware({
        name: "Guard",
        wrapModelCall: () =>
          sealMessage({ status: "NEEDS_HUMAN", reason: "loop" }, "I was going round in circles.") as never,
      });
      const { agent, model } = agentWith(["never"], { middleware: [...middleware, guard] });
      const { messages } = await agent.invoke(human("go"), config);
      expect(model.requests).toHaveLength(0);
      expect(messages.at(-1)?.text).toBe("I was going round in circles.");
      expect(messages).toHaveLength(2);
      expect(await runOf(agent)).toMatchObject({ status: "NEEDS_HUMAN", stopReason: "loop", partial: true });
    });
  }

  it("sees the seal of a closing answer around middleware that commits inside and outside the budget", async () => {
    const outside = createMiddleware({
      name: "Outside",
      stateSchema: channelSchema("_longhaulData"),
      wrapModelCall: async (request, handler) =>
        commitModelCall((await handler(request)) as ModelCallResult, {
          _longhaulData: { v: 1, entries: {} },
        }),
    });
    const stray: Reply = {
      content: "partial",
      toolCalls: [{ name: "noop", args: {} }],
      usage: { inputTokens: 4_000, outputTokens: 10, cachedTokens: 0 },
    };
    const { agent } = agentWith([stray, stray, stray], {
      middleware: [outside, budgetMiddleware({ limits: { tokens: 10_000 } }), toCommand],
    });
    const { messages } = await agent.invoke(human("go"), config);
    expect(await runOf(agent)).toMatchObject({
      status: "PAUSED",
      stopReason: "budget:tokens",
      partial: true,
    });
    expect((messages.at(-1) as AIMessage).tool_calls ?? []).toEqual([]);
    expect(messages.at(-1)?.text).toBe("partial");
    const calls = messages.flatMap((message) => (message as AIMessage).tool_calls ?? []).length;
    expect(messages.filter(ToolMessage.isInstance)).toHaveLength(calls);
  });

  it("shows the resume note on the first call after a resume only, and drops the failure with the next success", async () => {
    const resumed = {
      ...config,
      configurable: {
        ...config.configurable,
        longhaul_resume: { note: "Resumed at step 4.", lastFailure: "ECONNRESET in step 4" },
      },
    };
    const failures: (string | undefined)[] = [];
    const { agent, model } = agentWith([callTools(["noop"]), callTools(["noop"]), "done"]);
    await agent.invoke(human("go"), resumed);
    const noted = model.requests.map(({ messages }) =>
      messages.some((message) => message.text.includes("Resumed at step 4.")),
    );
    expect(noted).toEqual([true, false, false]);
    for await (const { values } of agent.graph.getStateHistory(config))
      failures.push(values._longhaulRun?.lastFailure);
    expect(failures.filter(Boolean)).toEqual(["ECONNRESET in step 4", "ECONNRESET in step 4"]);
    expect(await runOf(agent)).toMatchObject({ status: "COMPLETED", resumes: 1 });
    expect(await runOf(agent)).not.toHaveProperty("lastFailure");
  });

  it("shows the note again when the step that had it was not kept", async () => {
    const resumed = {
      ...config,
      configurable: { ...config.configurable, longhaul_resume: { note: "Resumed." } },
    };
    const { agent, model } = agentWith([new Error("down"), "done"]);
    await expect(agent.invoke(human("go"), resumed)).rejects.toThrow("down");
    await agent.invoke(null, resumed);
    expect(model.requests.every(({ messages }) => messages.at(-1)?.text.includes("Resumed."))).toBe(true);
    expect(await runOf(agent)).toMatchObject({ resumes: 1, step: 1 });
  });

  it("never stores a note, and refuses a tool when the run is over", async () => {
    const resumed = {
      ...config,
      configurable: { ...config.configurable, longhaul_resume: { note: "Resumed." } },
    };
    const { agent } = agentWith(["done"]);
    const { messages } = await agent.invoke(human("go"), resumed);
    expect(JSON.stringify(messages)).not.toContain("Resumed.");

    const forger = createMiddleware({
      name: "Forger",
      afterModel: ({ messages: history }) => ({
        messages: [
          new AIMessage({
            id: history.at(-1)?.id as string,
            content: "x",
            tool_calls: [{ name: "noop", args: {}, id: "f", type: "tool_call" }],
          }),
        ],
      }),
    });
    const forged = agentWith(["done"], { middleware: [forger] });
    await expect(forged.agent.invoke(human("go"), config)).rejects.toThrow(/COMPLETED does not allow `tool`/);
  });

  it("hides its channel from the output and from what the model is sent", async () => {
    const { agent, model } = agentWith(["done"]);
    expect(await agent.invoke(human("go"), config)).not.toHaveProperty("_longhaulRun");
    expect(
      JSON.stringify(
        model.requests[0]?.messages.map((message) =>
          wireText({ role: "user", content: message.text } as never),
        ),
      ),
    ).not.toContain("RUNNING");
  });
});

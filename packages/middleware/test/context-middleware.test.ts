import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { keepData, type LonghaulEvent, type MemoryState, memoryStorage } from "@longhaul/core";
import { contextMiddleware, progressMiddleware } from "@longhaul/middleware";
import { callTools, type ScriptRequest, StrictChatModel, wireText } from "@longhaul/test-kit";
import { createAgent, providerStrategy, toolStrategy } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";

const GOAL = "Move table ledger_eu to v3. Never touch ledger_us. Ticket QX-4471.";

const read = tool(
  async ({ page }: { page: number }) => `page ${page}: ${`row-${page} of the ledger; `.repeat(40)}`,
  {
    name: "read",
    description: "Reads a page",
    schema: z.object({ page: z.number() }),
  },
);
const scan = tool(async () => Array.from({ length: 3_000 }, (_, i) => `line ${i}`).join("\n"), {
  name: "scan",
  description: "Reads everything",
  schema: z.object({}),
});

/** Reads pages until `count` calls were made by it, then answers. */
function reader(count: number, answer = "All pages are read.") {
  let calls = 0;
  return () => (calls < count ? callTools(["read", { page: ++calls }]) : answer);
}

const text = (request: ScriptRequest | { messages: readonly BaseMessage[] }) =>
  JSON.stringify(request.messages);
const config = (thread = "t") => ({ configurable: { thread_id: thread }, recursionLimit: 500 });

function setup(
  script: ConstructorParameters<typeof StrictChatModel>[0]["script"],
  options = {},
  agentOptions = {},
) {
  const events: LonghaulEvent[] = [];
  const storage = memoryStorage();
  const model = new StrictChatModel({ script, windowTokens: 8_000 });
  const checkpointer = new MemorySaver();
  const agent = createAgent({
    model,
    tools: [read, scan],
    systemPrompt: "You migrate tables.",
    checkpointer,
    middleware: [
      contextMiddleware({
        window: 8_000,
        softLimit: 2_000,
        storage,
        events: (event) => events.push(event),
        ...options,
      }),
    ],
    ...agentOptions,
  });
  return { agent, model, events, storage, checkpointer };
}

const ofType = <T extends LonghaulEvent["type"]>(events: readonly LonghaulEvent[], type: T) =>
  events.filter((event): event is Extract<LonghaulEvent, { type: T }> => event.type === type);

describe("contextMiddleware", () => {
  it("A3: folds as the run grows; the goal stands first in every request, raw messages stay in the state", async () => {
    const { agent, model, events } = setup(reader(40));
    const { messages } = await agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    expect(messages.at(-1)?.text).toBe("All pages are read.");
    expect(messages).toHaveLength(1 + 40 * 2 + 1);
    const folds = ofType(events, "fold.done");
    expect(folds.length).toBeGreaterThan(3);
    expect(folds.length).toBeLessThan(12);
    for (const request of model.requests) {
      expect(request.messages[0]?.text).toBe("You migrate tables.");
      expect(request.messages[1]?.text).toMatch(
        /^Move table ledger_eu to v3\. Never touch ledger_us\. Ticket QX-4471\./,
      );
      expect(request.tokens).toBeLessThan(5_000);
    }
    const values = (await agent.graph.getState(config())).values as { _longhaulMemory: MemoryState };
    expect(values._longhaulMemory.summaries.length).toBeGreaterThan(0);
    expect(values._longhaulMemory.summaries.at(-1)?.toStep).toBe(folds.at(-1)?.toStep);
  });

  it("between folds each request begins with the one before it", async () => {
    const { agent, model, events } = setup(reader(30));
    await agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    const bytes = model.requests.map((request) =>
      JSON.stringify(request.messages.map((message) => message.content)),
    );
    const breaks = bytes.slice(1).filter((later, i) => !later.startsWith((bytes[i] as string).slice(0, -1)));
    expect(breaks).toHaveLength(ofType(events, "fold.done").length);
  });

  it("a resumed thread sees the same bytes, and a repeated fold finds its summary", async () => {
    const first = setup(reader(20));
    await first.agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    const fold = ofType(first.events, "fold.done")[0];
    const history = [];
    for await (const snapshot of first.agent.graph.getStateHistory(config())) history.push(snapshot);
    // Right before the model call that folded first.
    const before = history.find(
      (snapshot) =>
        snapshot.next.includes("model_request") &&
        snapshot.values.messages.length === 2 * (fold?.step ?? 8) - 1,
    );
    const folded = first.model.requests.findIndex((request) => text(request).includes("<longhaul-memory"));
    const start = history.find(
      (s) => s.next.includes("model_request") && s.values.messages.length === 1 + folded * 2,
    );
    expect(start ?? before).toBeDefined();
    const again = setup(reader(0), { storage: first.storage }, { checkpointer: first.checkpointer });
    await again.agent.invoke(null, (start ?? before)?.config as never);
    expect(ofType(again.events, "fold.done")[0]).toMatchObject({ reused: true });
    expect(text(again.model.requests[0] as never)).toBe(text(first.model.requests[folded] as never));
  });

  it("A14: a result larger than the window is stored, shown in part, and the run goes on", async () => {
    const { agent, model, events, storage } = setup([callTools(["scan"]), "done"]);
    await agent.invoke({ messages: [new HumanMessage("scan it")] }, config());
    const ref = ofType(events, "context.stored")[0]?.ref as string;
    expect(text(model.requests[1] as never)).toContain(ref);
    expect((await storage.artifacts.get("t", ref))?.content).toContain("line 1500\n");
  });

  it("A14: a store that loses what it is given gets no promise in the context", async () => {
    const broken = memoryStorage();
    const artifacts = {
      ...broken.artifacts,
      put: async () => "lh-0000000000000000",
      get: async () => undefined,
    };
    const { agent, model, events } = setup([callTools(["scan"]), callTools(["scan"]), "done"], {
      storage: { ...broken, artifacts },
    });
    await agent.invoke({ messages: [new HumanMessage("scan it")] }, config());
    expect(text(model.requests[2] as never)).not.toContain("lh-");
    expect(ofType(events, "context.store-failed")).toHaveLength(2);
    expect(ofType(events, "context.reduced")[0]).toMatchObject({ withoutReference: 1 });
  });

  it("A4: a summariser that fails changes nothing, is paused, and the run ends well", async () => {
    const summarizer = new StrictChatModel({ script: () => new Error("rate limited, slow down") });
    const { agent, model, events } = setup(reader(30), { summarizer, summary: { retries: 0 } });
    const { messages } = await agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    expect(messages).toHaveLength(62);
    const failed = ofType(events, "fold.failed");
    expect(failed.length).toBeGreaterThan(1);
    expect(failed.length).toBeLessThan(8);
    expect(model.requests.map((request) => text(request)).join("")).not.toContain("rate limited");
  });

  it("A18: a floor above the trigger costs no summary and is reported once", async () => {
    const script = (request: ScriptRequest) => `You said: ${wireText(request.messages.at(-1) as never)}`;
    const summarizer = new StrictChatModel({ script: () => "never" });
    const { agent, events } = setup(
      script,
      { hardLimit: 3_000, softLimit: undefined, summarizer },
      { systemPrompt: "You are careful. ".repeat(900) },
    );
    for (let i = 0; i < 5; i++) await agent.invoke({ messages: [new HumanMessage(`line ${i}`)] }, config());
    expect(summarizer.requests).toHaveLength(0);
    const reports = ofType(events, "fold.fruitless");
    expect(reports.length).toBeGreaterThan(0);
    expect(reports[0]).toMatchObject({ trigger: 3_000, window: 8_000 });
    expect(ofType(events, "context.over-limit").length).toBeGreaterThan(0);
    const small = setup(
      script,
      { window: 1_000, softLimit: undefined },
      { systemPrompt: "You are careful. ".repeat(900) },
    );
    await expect(small.agent.invoke({ messages: [new HumanMessage("line")] }, config())).rejects.toThrow(
      /window is 1000/,
    );
  });

  it("A10: the first message with a picture of megabytes is sent as it is", async () => {
    const url = `data:image/png;base64,${"A".repeat(1_600_000)}`;
    const { agent, model, events } = setup(["red"], { window: 128_000, softLimit: undefined });
    const content = [
      { type: "text", text: "what colour is the bar?" },
      { type: "image_url", image_url: { url } },
    ];
    await agent.invoke({ messages: [new HumanMessage({ content })] }, config());
    expect(ofType(events, "fold.done")).toHaveLength(0);
    expect(model.requests[0]?.messages.at(-1)?.content).toMatchObject([
      { type: "text" },
      { image_url: { url } },
    ]);
  });

  it("A9: the measure is calibrated by the usage that the model reports", async () => {
    const { agent } = setup([{ content: "ok", usage: { inputTokens: 2_000 } }]);
    await agent.invoke({ messages: [new HumanMessage("字".repeat(500))] }, config());
    const { _longhaulMemory } = (await agent.graph.getState(config())).values as {
      _longhaulMemory: MemoryState;
    };
    expect(_longhaulMemory.calibration).toBeGreaterThan(1.1);
  });

  it("an unknown window is announced once and names its option; the model's profile is used when there is one", async () => {
    const { agent, events } = setup(reader(2), { window: undefined });
    await agent.invoke({ messages: [new HumanMessage("go")] }, config());
    expect(ofType(events, "context.window-unknown")).toMatchObject([
      { assumed: 32_000, option: "context.window" },
    ]);
    const model = new StrictChatModel({ script: ["ok"], profile: { maxInputTokens: 400 } });
    const small = createAgent({ model, tools: [], middleware: [contextMiddleware()] });
    await expect(small.invoke({ messages: [new HumanMessage("word ".repeat(200))] })).rejects.toThrow(
      /a quarter/,
    );
  });

  it("structured output survives folds, by tool and by provider", async () => {
    const schema = z.object({ pages: z.number() });
    const tools = setup(
      (request) => {
        const name = request.tools.find((offered) => offered.function.name.startsWith("extract"))?.function
          .name as string;
        const seen = tools.model.requests.length;
        return seen <= 20 ? callTools(["read", { page: seen }]) : callTools([name, { pages: 20 }]);
      },
      {},
      { responseFormat: toolStrategy(schema) },
    );
    const byTool = await tools.agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    expect((byTool as { structuredResponse?: unknown }).structuredResponse).toEqual({ pages: 20 });
    expect(ofType(tools.events, "fold.done").length).toBeGreaterThan(0);
    const native = setup(reader(20, '{"pages":20}'), {}, { responseFormat: providerStrategy(schema) });
    const byProvider = await native.agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    expect((byProvider as { structuredResponse?: unknown }).structuredResponse).toEqual({ pages: 20 });
    expect(ofType(native.events, "fold.done").length).toBeGreaterThan(0);
  });

  it("A16: the stream holds the model's tokens only, none of the summariser's and none of the memory", async () => {
    const answer = {
      done: "SUMMARISER SPEAKING of pages that were read one after the other in these steps",
      outputs: [],
      problems: [],
      effect: "",
      open: [],
    };
    const summarizer = new StrictChatModel({ script: () => JSON.stringify(answer) });
    const { agent, events, model } = setup(reader(20), { summarizer });
    let streamed = "";
    const stream = await agent.stream(
      { messages: [new HumanMessage(GOAL)] },
      { ...config(), streamMode: "messages" },
    );
    for await (const [message] of stream as AsyncIterable<[BaseMessage, unknown]>)
      if (AIMessage.isInstance(message)) streamed += message.text;
    expect(streamed).toContain("All pages are read.");
    expect(ofType(events, "fold.done").length).toBeGreaterThan(0);
    expect(text(model.requests.at(-1) as never)).toContain("SUMMARISER SPEAKING");
    expect(streamed).not.toContain("SUMMARISER");
    expect(streamed).not.toContain("longhaul");
  });

  it("summaries of a model stand in the memory, are counted by the meter and heard by no other callback", async () => {
    const answer = {
      done: "Several pages of the ledger were read one after the other, each with forty equal rows.",
      outputs: [{ kind: "conclusion", value: "every page has rows of the ledger", source: "read" }],
      problems: [],
      effect: "",
      open: ["who owns the ledger"],
    };
    const summarizer = new StrictChatModel({ script: () => JSON.stringify(answer) });
    const { agent, model } = setup(reader(20), { summarizer });
    const heard: Record<string, number> = {};
    const handler = (name: string) =>
      BaseCallbackHandler.fromMethods({
        handleChatModelStart: () => {
          heard[name] = (heard[name] ?? 0) + 1;
        },
      });
    const meter = Object.assign(handler("meter"), { name: "longhaul_meter" });
    await agent.invoke(
      { messages: [new HumanMessage(GOAL)] },
      { ...config(), callbacks: [meter, handler("tracer")] },
    );
    expect(summarizer.requests.length).toBeGreaterThan(0);
    expect(heard).toEqual({ meter: 21 + summarizer.requests.length, tracer: 21 });
    expect(text(model.requests.at(-1) as never)).toContain("who owns the ledger");
  });

  it("a request that the provider finds too long is made smaller once", async () => {
    let refused = 0;
    const { agent, events, model } = setup(
      ({ messages }) => {
        const chars = messages.reduce((sum, message) => sum + wireText(message).length, 0);
        if (chars > 6_000 && refused++ < 5)
          return Object.assign(new Error("This model's maximum context length is 2000 tokens"), {
            status: 400,
          });
        const reads = messages.filter((message) => message.role === "tool").length;
        return model.requests.length > 30 ? "done" : callTools(["read", { page: reads }]);
      },
      { window: 32_000, softLimit: undefined },
    );
    const { messages } = await agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    expect(messages.at(-1)?.text).toBe("done");
    expect(ofType(events, "context.overflow").length).toBeGreaterThan(0);
  });

  it("key data kept by a tool's body survives folds, and the recall tool reads back what left the view", async () => {
    const create = tool(
      async (_: object, runConfig: unknown) => {
        keepData(runConfig, "record", { id: "REC-88123" }, "create");
        return "created";
      },
      { name: "create", description: "Creates", schema: z.object({}) },
    );
    const next = reader(20);
    const { agent, model } = setup(
      [
        callTools(["create"]),
        ...Array.from({ length: 20 }, () => next),
        callTools(["recall", { steps: "3" }]),
        "done",
      ],
      {},
      { tools: [create, read] },
    );
    await agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    const last = model.requests.at(-1);
    expect(last?.messages[1]?.text).toContain('- record = {"id":"REC-88123"} [source: create]');
    expect(last?.messages.at(-1)?.text).toContain("page 2: row-2 of the ledger");
  });

  it("with the progress tools: asked, the model resets; the next request holds goal and checkpoint and no old message", async () => {
    const context = { window: 8_000, softLimit: 2_000, askReset: true };
    const events: LonghaulEvent[] = [];
    const common = { storage: memoryStorage(), events: (event: LonghaulEvent) => events.push(event) };
    let page = 0;
    const model = new StrictChatModel({
      windowTokens: 8_000,
      script: (request) => {
        const last = wireText(request.messages.at(-1) as never);
        if (page >= 30) return "All pages are read.";
        if (
          last.includes('<longhaul-notice kind="progress"') &&
          last.includes("checkpoint") &&
          !last.includes("was reset")
        ) {
          const done = Array.from({ length: page }, (_, i) => `page ${i + 1}`);
          return callTools(
            ["checkpoint", { goal: "read", facts: [], done, todo: ["the rest"], open: [] }],
            ["reset", {}],
            ["read", { page: ++page }],
          );
        }
        return callTools(["read", { page: ++page }]);
      },
    });
    const agent = createAgent({
      model,
      tools: [read],
      middleware: [
        progressMiddleware({ ...common, view: "context", context }),
        contextMiddleware({ ...common, ...context }),
      ],
      checkpointer: new MemorySaver(),
    });
    await agent.invoke({ messages: [new HumanMessage(GOAL)] }, config());
    const applied = ofType(events, "reset.applied");
    expect(applied.length).toBeGreaterThan(1);
    expect(ofType(events, "fold.done")).toHaveLength(0);
    const fresh = model.requests.filter((request) =>
      request.messages.at(-1)?.text.includes("name the next step first"),
    );
    expect(fresh).toHaveLength(applied.length);
    for (const request of fresh) {
      expect(request.messages).toHaveLength(1);
      expect(request.messages[0]?.text).toContain(GOAL);
      expect(request.messages[0]?.text).toMatch(/Done:\n- page 1\n/);
      expect(request.messages[0]?.text).toMatch(/<longhaul-result tool="read">\npage \d+: row/);
    }
  });

  it("refuses options that cannot work at once", () => {
    expect(() => contextMiddleware({ softLimit: 9_000, hardLimit: 8_000 })).toThrow(/softLimit/);
    expect(() => contextMiddleware({ history: "archive" })).toThrow(/history/);
    expect(() => contextMiddleware({ window: Number.NaN })).toThrow(/window/);
  });
});

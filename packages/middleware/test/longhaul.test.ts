import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { InvalidOptionsError, type LonghaulEvent, memoryStorage, messageText } from "@longhaul/core";
import {
  callTools,
  type Reply,
  type ScriptRequest,
  StrictChatModel,
  type StrictChatModelOptions,
} from "@longhaul/test-kit";
import { createDeepAgent } from "deepagents";
import { createAgent, createMiddleware, providerStrategy, toolStrategy } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { type LonghaulOptions, longhaul } from "../src/index.ts";

let threads = 0;
const newThread = () => ({ configurable: { thread_id: `p${++threads}` }, recursionLimit: 200 });
const ask = (text: string) => ({ messages: [new HumanMessage(text)] });
const strict = (
  script: StrictChatModelOptions["script"],
  profile: Readonly<Record<string, unknown>> = { maxInputTokens: 32_000 },
) => new StrictChatModel({ script, profile });
const look = tool(({ q }) => `Page ${q}: ${"words and more words ".repeat(60)}`, {
  name: "look",
  description: "Reads a page",
  schema: z.object({ q: z.string() }),
});
const pages = (count: number, end: string | ((request: ScriptRequest) => Reply) = "done") => {
  let n = 0;
  return (request: ScriptRequest) =>
    n < count
      ? callTools(["look", { q: String(++n) }])
      : typeof end === "function"
        ? end(request)
        : (end as string);
};
const recorder = () => {
  const seen: LonghaulEvent[] = [];
  return {
    sink: (event: LonghaulEvent) => void seen.push(event),
    of: (type: string) => seen.filter((event) => event.type === type),
  };
};
const textOf = (messages: readonly BaseMessage[]) =>
  messages.map((message) => messageText(message)).join("\n");

const NAMES = [
  "LonghaulRunStatus",
  "LonghaulBudget",
  "LonghaulLoopDetection",
  "LonghaulProgress",
  "LonghaulToolGuard",
  "LonghaulIdempotency",
  "LonghaulContext",
];

describe("longhaul()", () => {
  it("is all parts in their order, and without those that are false", () => {
    expect(longhaul().map(({ name }) => name)).toEqual(NAMES);
    const parts = {
      budget: "LonghaulBudget",
      loops: "LonghaulLoopDetection",
      progress: "LonghaulProgress",
      toolGuard: "LonghaulToolGuard",
      effects: "LonghaulIdempotency",
      context: "LonghaulContext",
    };
    for (const [key, name] of Object.entries(parts)) {
      const options: LonghaulOptions = { [key]: false };
      expect(longhaul(options).map((part) => part.name)).toEqual(NAMES.filter((other) => other !== name));
    }
  });

  it.each(["budget", "loops", "progress", "toolGuard", "effects", "context"])(
    "runs without %s",
    async (key) => {
      const model = strict(pages(3));
      const options: LonghaulOptions = { [key]: false };
      const agent = createAgent({
        model,
        tools: [look],
        middleware: longhaul(options),
        checkpointer: new MemorySaver(),
      });
      const state = await agent.invoke(ask("Read."), newThread());
      expect(messageText(state.messages.at(-1)!)).toBe("done");
    },
  );

  it("refuses at once what it does not know and what cannot work", () => {
    const wrong: [object, string][] = [
      [{ memory: {} }, "options"],
      [{ toolOptions: {} }, "options"],
      [{ context: { softLimit: 1 } }, "context.softLimit"],
      [{ tools: { pay: { effect: "twice" } } }, "tools.pay.effect"],
      [{ progress: { maxCharacters: 3 } }, "maxCharacters"],
    ];
    for (const [options, option] of wrong) {
      let thrown: unknown;
      try {
        longhaul(options as LonghaulOptions as never);
      } catch (error) {
        thrown = error;
      }
      expect(InvalidOptionsError.isInstance(thrown) && thrown.option, option).toBe(option);
    }
  });

  it("says once that effects do not survive the process when it has no storage, or one in memory", async () => {
    const pay = tool(() => "paid", { name: "pay", description: "x", schema: z.object({}) });
    for (const storage of [undefined, memoryStorage()]) {
      const events = recorder();
      const agent = createAgent({
        model: strict([callTools(["pay"]), callTools(["pay"]), "done"]),
        tools: [pay],
        middleware: longhaul({ storage, events: events.sink }),
        checkpointer: new MemorySaver(),
      });
      await agent.invoke(ask("Pay twice."), newThread());
      const told = events.of("effect.unguarded").concat(events.of("effect.degraded"));
      expect(told).toHaveLength(1);
      expect(JSON.stringify(told)).toContain("in memory");
    }
  });

  it("asks for a reset and folds by the same limits", async () => {
    const run = async (softLimit: number) => {
      const events = recorder();
      const agent = createAgent({
        model: strict(pages(8)),
        tools: [look],
        middleware: longhaul({ context: { softLimit }, events: events.sink }),
        checkpointer: new MemorySaver(),
      });
      await agent.invoke(ask("Read."), newThread());
      return events;
    };
    const small = await run(900);
    expect(small.of("reset.asked").length).toBeGreaterThanOrEqual(2);
    expect(small.of("context.folded").length + small.of("fold.done").length).toBeGreaterThan(0);
    const large = await run(9_000);
    expect(large.of("reset.asked")).toHaveLength(0);
  });

  it("keeps structured output by either strategy, through folds, and the caller's own state", async () => {
    const Answer = z.object({ city: z.string(), degrees: z.number() });
    const mine = createMiddleware({
      name: "Mine",
      stateSchema: z.object({ visits: z.number().default(0) }),
      afterModel: (state) => ({ visits: state.visits + 1 }),
    });
    const answer = { city: "Oslo", degrees: -3 };
    const shared = {
      tools: [look],
      middleware: [mine, ...longhaul({ context: { softLimit: 900 }, progress: false })] as const,
      checkpointer: new MemorySaver(),
    };
    const input = { ...ask("How cold?"), visits: 0 };

    const calling = ({ tools }: ScriptRequest) => callTools([tools.at(-1)?.function.name ?? "", answer]);
    const byTool = createAgent({
      ...shared,
      model: strict(pages(6, calling)),
      responseFormat: toolStrategy(Answer),
    });
    const called = await byTool.invoke(input, newThread());
    expect(called.structuredResponse).toEqual(answer);
    expect(called.visits).toBe(7);

    const profile = { maxInputTokens: 32_000, structuredOutput: true };
    const byProvider = createAgent({
      ...shared,
      model: strict(pages(6, JSON.stringify(answer)), profile),
      responseFormat: providerStrategy(Answer),
    });
    const provided = await byProvider.invoke(input, newThread());
    expect(provided.structuredResponse).toEqual(answer);
    expect(provided.visits).toBe(7);
  });

  it("streams the model's tokens and none of the summariser's", async () => {
    const summarizer = strict(() => "SUMMARY that nobody may see");
    const agent = createAgent({
      model: strict(pages(8, "the very end")),
      tools: [look],
      middleware: longhaul({ summarizer, context: { softLimit: 900 }, progress: false }),
      checkpointer: new MemorySaver(),
    });
    const tokens: string[] = [];
    for await (const [message] of await agent.stream(ask("Read."), {
      ...newThread(),
      streamMode: "messages",
    })) {
      tokens.push(messageText(message as BaseMessage));
    }
    expect(summarizer.requests.length).toBeGreaterThan(0);
    expect(tokens.join("")).not.toContain("SUMMARY");
    expect(tokens.filter((token) => token.trim() === "very")).toHaveLength(1);
  });

  it("lives in a deep agent, beside the summariser that it has of its own", async () => {
    let turn = 0;
    const model = strict(({ tools }: ScriptRequest) => {
      expect(tools.map((entry) => entry.function.name)).toEqual(expect.arrayContaining(["task", "recall"]));
      turn++;
      if (turn === 1) return callTools(["ls", { path: "/" }]);
      if (turn === 2)
        return callTools(["write_file", { file_path: "/notes.md", content: "note" }], ["look", { q: "1" }]);
      return turn < 10 ? callTools(["look", { q: String(turn) }]) : "done";
    });
    const agent = createDeepAgent({
      model,
      tools: [look],
      systemPrompt: "Be brief.",
      checkpointer: new MemorySaver(),
      middleware: longhaul({ context: { softLimit: 900 }, storage: memoryStorage() }),
    });
    const config = newThread();
    const state = (await agent.invoke(ask("Read all."), config)) as { messages: BaseMessage[] };
    expect(messageText(state.messages.at(-1)!)).toBe("done");
    const results = state.messages.filter((message) => ToolMessage.isInstance(message));
    expect(results.map((message) => (message as ToolMessage).status ?? "success")).not.toContain("error");
    expect(textOf(model.requests.at(-1)?.messages ?? [])).toContain("Read all.");
    const { values } = (await agent.getState(config)) as {
      values: Record<string, { summaries?: unknown[] }>;
    };
    expect(values._longhaulRun).toMatchObject({ status: "COMPLETED" });
    expect(values._longhaulMemory?.summaries?.length).toBeGreaterThan(0);
  });
});

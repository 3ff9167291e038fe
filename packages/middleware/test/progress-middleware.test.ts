import { type AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { InvalidOptionsError, type LonghaulEvent, readSeal } from "@longhaul/core";
import { callTools, checkRequest, type Reply, StrictChatModel } from "@longhaul/test-kit";
import { type AgentMiddleware, createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { contextMiddleware } from "../src/context-middleware.ts";
import { type ProgressMiddlewareOptions, progressMiddleware } from "../src/index.ts";

function setUp(
  replies: readonly Reply[],
  options: ProgressMiddlewareOptions = {},
  inside: readonly AgentMiddleware[] = [],
) {
  const events: LonghaulEvent[] = [];
  const model = new StrictChatModel({ script: replies });
  const read = tool(({ page }) => `page ${page}: ${`word${page} `.repeat(60)}`, {
    name: "read",
    description: "Reads a page.",
    schema: z.object({ page: z.number() }),
  });
  const agent = createAgent({
    model,
    tools: [read],
    systemPrompt: "You research.",
    middleware: [progressMiddleware({ events: (event) => void events.push(event), ...options }), ...inside],
    checkpointer: new MemorySaver(),
  });
  const config = { configurable: { thread_id: "t" }, recursionLimit: 100 };
  return {
    agent,
    model,
    events,
    config,
    requests: () =>
      model.requests.map(({ messages }) => messages.map((message) => message.text).join("\n---\n")),
    say: async (text: string) => {
      const { messages } = await agent.invoke({ messages: [new HumanMessage(text)] }, config);
      expect(checkRequest(messages)).toBeUndefined();
      return messages as BaseMessage[];
    },
    state: async () => (await agent.graph.getState(config)).values,
  };
}

const pages = (...numbers: number[]) => callTools(...numbers.map((page) => ["read", { page }] as const));
const save = (given: object = {}) =>
  ["checkpoint", { goal: "g", facts: [], done: [], todo: ["next"], ...given }] as const;
const saveAndReset = (given: object = {}) => callTools(save(given), ["reset", {}]);

describe("progressMiddleware", () => {
  it("gives the model a clean context after a reset, and leaves the stored messages alone", async () => {
    const { say, requests, state, model } = setUp([
      pages(1),
      pages(2),
      callTools(
        save({ facts: [{ text: "A is 12", source: "read" }], done: ["read 1"] }),
        ["read", { page: 3 }],
        ["reset", {}],
      ),
      pages(4),
      "A is the cheapest.",
    ]);
    const messages = await say("Find the cheapest.");
    expect(messages.at(-1)!.text).toBe("A is the cheapest.");
    expect(messages.map((message) => message.getType())).toEqual(
      "human ai tool ai tool ai tool tool tool ai tool ai".split(" "),
    );
    const clean = requests()[3]!;
    expect(clean).toContain("You research.");
    expect(clean).toContain("Find the cheapest.");
    expect(clean).toContain("A is 12 [source: read]");
    expect(clean).toContain("page 3: word3");
    expect(clean).not.toContain("word1");
    expect(clean).not.toContain("word2");
    expect(requests()[4]).toContain("page 4: word4");
    expect(model.requests[3]!.messages.map((message) => message.getType())).toEqual(["system", "human"]);
    expect((await state())._longhaulProgress).toMatchObject({
      v: 1,
      resets: 1,
      latest: { done: ["read 1"] },
    });
  });

  it("keeps the epoch over human turns and restarts of the process", async () => {
    const { say, requests } = setUp([
      pages(1),
      saveAndReset({ done: ["a"] }),
      "First answer.",
      pages(2),
      "Second.",
    ]);
    await say("Find it.");
    await say("And the second?");
    expect(requests()[3]).not.toContain("word1");
    expect(requests()[3]).toContain("And the second?");
    expect(requests()[4]).toContain("word2");
  });

  it("asks for a reset past the soft limit, for two turns only, in the request and in no history", async () => {
    const context = { window: 4_000, softLimit: 300 };
    const replies = [1, 2, 3, 4, 5, 6].map((page) => pages(page));
    const { say, requests, events } = setUp([...replies, "Done."], { context });
    const messages = await say("Find it.");
    const asked = requests().map((text) => text.includes('<longhaul-notice kind="progress">'));
    expect(asked.filter(Boolean)).toHaveLength(2);
    expect(asked.lastIndexOf(true) - asked.indexOf(true)).toBe(1);
    expect(asked[0]).toBe(false);
    expect(events.map((event) => event.type === "reset.asked" && event.times)).toEqual([1, 2]);
    expect(messages.some((message) => message.text.includes("longhaul-notice"))).toBe(false);
  });

  it("asks again when the next working layer fills", async () => {
    const context = { window: 4_000, softLimit: 300 };
    const { say, events } = setUp(
      [
        pages(1),
        pages(2),
        pages(3),
        saveAndReset({ done: ["a"] }),
        pages(4),
        pages(5),
        pages(6),
        saveAndReset({ done: ["b"] }),
        "Done.",
      ],
      { context },
    );
    await say("Find it.");
    expect(events.filter(({ type }) => type === "reset.granted")).toHaveLength(2);
    const first = events.findIndex(({ type }) => type === "reset.granted");
    expect(events.slice(first).some(({ type }) => type === "reset.asked")).toBe(true);
    expect(events.slice(0, first).some(({ type }) => type === "reset.asked")).toBe(true);
  });

  it("ends a run that only checkpoints, without leaving a call open, and a person can go on", async () => {
    const idle = callTools(save({ done: ["a"] }));
    const { say, model, events } = setUp([idle, idle, idle, idle, "It goes on."]);
    const messages = await say("Find it.");
    expect(model.requests).toHaveLength(4);
    expect(readSeal(messages.at(-1) as AIMessage)).toEqual({ status: "NEEDS_HUMAN", reason: "no_progress" });
    expect(messages.at(-1)!.text).toContain("Done so far: a.");
    const results = messages.filter((message) => message.getType() === "tool") as ToolMessage[];
    expect(results.map(({ status }) => status)).toEqual(["success", "success", "error", "error"]);
    expect(events.at(-1)).toMatchObject({ type: "progress.stop", idle: 3, threadId: "t" });
    expect((await say("Try the other page.")).at(-1)!.text).toBe("It goes on.");
  });

  it("answers a refused reset, and the run goes on", async () => {
    const { say } = setUp([callTools(["reset", {}]), callTools(["checkpoint", { facts: "x" }]), "Done."]);
    const messages = await say("Find it.");
    expect(messages[2]!.text).toContain("Call checkpoint first");
    expect(messages[4]!.text).toContain("did not match expected schema");
  });

  it("with view: context the context middleware applies the reset", async () => {
    const context = { window: 8_000, askReset: true };
    const { say, requests, state } = setUp(
      [
        pages(1),
        saveAndReset({ facts: [{ text: "A is 12", source: "read" }], done: ["read 1"] }),
        pages(2),
        "Done.",
      ],
      { context, view: "context" },
      [contextMiddleware({ ...context })],
    );
    await say("Find the cheapest.");
    expect(requests()[2]).toContain("A is 12");
    expect(requests()[2]).toContain("Find the cheapest.");
    expect(requests()[2]).not.toContain("word1");
    expect(requests()[3]).toContain("word2");
    expect((await state())._longhaulMemory).toMatchObject({ epoch: 1 });
  });

  it("the fold comes once the model was asked twice and does not reset, and not before", async () => {
    const order: string[] = [];
    const events = ({ type }: LonghaulEvent) => {
      if (type === "reset.asked" || type.startsWith("fold.")) order.push(type);
    };
    const context = { window: 16_000, softLimit: 1_500, askReset: true };
    const replies = Array.from({ length: 16 }, (_, page) => pages(page));
    const { say } = setUp([...replies, "Done."], { context, view: "context", events }, [
      contextMiddleware({ ...context, events }),
    ]);
    await say("Find it.");
    expect(order.slice(0, 3)).toEqual(["reset.asked", "reset.asked", expect.stringMatching(/^fold/)]);
  });

  it("refuses options that cannot work at once", () => {
    expect(() => progressMiddleware({ view: "mine" as never })).toThrow(InvalidOptionsError);
    expect(() => progressMiddleware({ context: { window: 1 } })).toThrow(InvalidOptionsError);
  });
});

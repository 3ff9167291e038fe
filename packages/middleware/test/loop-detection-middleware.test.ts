import { AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { type LonghaulEvent, loopState, readSeal } from "@longhaul/core";
import {
  callTools,
  checkRequest,
  type Reply,
  type Script,
  StrictChatModel,
  sequence,
  wireText,
} from "@longhaul/test-kit";
import { type AgentMiddleware, createAgent, createMiddleware, toolStrategy } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { type LoopDetectionOptions, loopDetectionMiddleware } from "../src/index.ts";
import { channelSchema } from "../src/shared/channels.ts";
import { answerOf, commitModelCall } from "../src/shared/commit-model-call.ts";

interface Setup {
  readonly replies: readonly Reply[];
  /** What comes when the replies are used up. */
  readonly rest?: Reply;
  readonly options?: LoopDetectionOptions;
  readonly around?: { readonly outside?: AgentMiddleware[]; readonly inside?: AgentMiddleware[] };
}

function setUp({ replies, rest, options, around }: Setup) {
  const runs: string[] = [];
  const events: LonghaulEvent[] = [];
  const first = sequence(replies);
  let given = 0;
  const script: Script = (request) => (given++ < replies.length || !rest ? first(request) : rest);
  const model = new StrictChatModel({ script });
  const look = tool(
    ({ q }) => {
      runs.push(q);
      if (q.startsWith("throw")) throw new Error(`cannot look at ${q}`);
      return q.startsWith("new") ? `news about ${q} ${runs.length}` : "the same old thing";
    },
    { name: "look", description: "Looks.", schema: z.object({ q: z.string() }) },
  );
  const agent = createAgent({
    model,
    tools: [look],
    middleware: [
      ...(around?.outside ?? []),
      loopDetectionMiddleware({ events: (event) => void events.push(event), ...options }),
      ...(around?.inside ?? []),
    ],
    checkpointer: new MemorySaver(),
  });
  const config = (thread = "t1") => ({ configurable: { thread_id: thread }, recursionLimit: 100 });
  const say = async (text: string, thread?: string) => {
    const { messages } = await agent.invoke({ messages: [new HumanMessage(text)] }, config(thread));
    // every history that is handed out could be sent as it is
    expect(checkRequest(messages)).toBeUndefined();
    return messages as BaseMessage[];
  };
  const state = async (thread?: string) => (await agent.graph.getState(config(thread))).values;
  const requests = () =>
    model.requests.map(({ messages }) => messages.map((message) => message.text).join("\n"));
  return { agent, model, runs, events, say, state, requests, config };
}

const looks = (...qs: string[]) => callTools(...qs.map((q) => ["look", { q }] as const));
const sealOf = (messages: readonly BaseMessage[]) => readSeal(messages.at(-1) as AIMessage);

describe("B8: the ladder in an agent whose model ignores it", () => {
  const thinking = (n: number): AIMessage =>
    new AIMessage({
      content: [
        { type: "thinking", thinking: `round ${n}`, signature: `sig-${n}` },
        { type: "text", text: `Looking again, round ${n}.` },
      ],
      tool_calls: [
        { name: "look", args: { q: "a" }, id: `c1-${n}`, type: "tool_call" },
        { name: "look", args: { q: "b" }, id: `c2-${n}`, type: "tool_call" },
      ],
    });

  it("B8: hint, block, stop; every request and history valid; nothing stored but results", async () => {
    const given = Array.from({ length: 14 }, (_, i) => thinking(i));
    const { say, runs, events, requests, model, state } = setUp({ replies: given });
    const messages = await say("go");

    // 3 rounds to the hint, one more to the block, none of the fifth is run
    expect(runs).toEqual(["a", "b", "a", "b", "a", "b", "a", "b"]);
    expect(model.requests).toHaveLength(5);
    expect(events.map(({ type }) => type)).toEqual([
      "loop.hint",
      "loop.block",
      "loop.blocked",
      "loop.blocked",
      "loop.stop",
    ]);
    const noticed = requests().map((text) => text.includes('<longhaul-notice kind="loop">'));
    expect(noticed).toEqual([false, false, false, true, true]);
    expect(requests()[3]).toContain("3 times");
    expect(messages.some((message) => message.text.includes("longhaul-notice"))).toBe(false);

    const refused = messages.slice(-3, -1) as ToolMessage[];
    expect(refused.map(({ status, tool_call_id }) => [status, tool_call_id])).toEqual([
      ["error", "c1-4"],
      ["error", "c2-4"],
    ]);
    expect(sealOf(messages)).toEqual({ status: "NEEDS_HUMAN", reason: "loop" });
    expect(messages.at(-1)!.text).toContain("look");
    // signed blocks are what the provider gave
    const assistants = messages.filter((message) => message.getType() === "ai").slice(0, -1);
    expect(assistants.map(({ content }) => content)).toEqual(given.slice(0, 5).map(({ content }) => content));
    expect((await state())._longhaulLoops).toMatchObject({ v: 1, steps: 5 });
  });

  it("B8: a person's next message begins a new run with the whole ladder", async () => {
    const { say, runs, events } = setUp({ replies: [], rest: looks("a") });
    await say("go");
    await say("go on");
    expect(runs).toHaveLength(8);
    expect(events.filter(({ type }) => type === "loop.hint")).toHaveLength(2);
    expect(events.filter(({ type }) => type === "loop.stop")).toHaveLength(2);
  });

  it("B8: two threads at once do not count for each other", async () => {
    const { say, runs } = setUp({ replies: [], rest: looks("a") });
    const both = await Promise.all([say("go", "t1"), say("go", "t2")]);
    expect(both.map(sealOf)).toEqual([
      { status: "NEEDS_HUMAN", reason: "loop" },
      { status: "NEEDS_HUMAN", reason: "loop" },
    ]);
    expect(runs).toHaveLength(8);
  });

  it("B8: a model that heeds the hint goes on", async () => {
    const { say, events, requests } = setUp({
      replies: [looks("a"), looks("a"), looks("a"), looks("new"), "It is new."],
    });
    const messages = await say("go");
    expect(messages.at(-1)!.text).toBe("It is new.");
    expect(events.map(({ type }) => type)).toEqual(["loop.hint"]);
    expect(requests().map((text) => text.includes("longhaul-notice"))).toEqual([
      false,
      false,
      false,
      true,
      false,
    ]);
  });

  it("counts on after a restart: the state is in the checkpoint", async () => {
    const saver = new MemorySaver();
    const make = (replies: readonly Reply[], events: string[]) =>
      createAgent({
        model: new StrictChatModel({ script: replies }),
        tools: [
          tool(() => "same", { name: "look", description: "Looks.", schema: z.object({ q: z.string() }) }),
        ],
        middleware: [loopDetectionMiddleware({ events: ({ type }) => void events.push(type) })],
        checkpointer: saver,
      });
    const config = { configurable: { thread_id: "t" } };
    const first: string[] = [];
    const dying = make([looks("a"), looks("a"), looks("a"), new Error("the process dies")], first);
    await expect(dying.invoke({ messages: [new HumanMessage("go")] }, config)).rejects.toThrow();
    const second: string[] = [];
    const again = (id: string) => ({ content: "", toolCalls: [{ name: "look", args: { q: "a" }, id }] });
    const after = make([again("later_1"), again("later_2")], second);
    await after.invoke(null, config);
    expect(first).toEqual(["loop.hint"]);
    // the step that died had not committed its hint, so it is given again; nothing before it is counted twice
    expect(second).toEqual(["loop.hint", "loop.block", "loop.blocked", "loop.stop"]);
  });
});

describe("B3, B9, B10: seen through messages", () => {
  it("B3 (iii): one message with five equal calls is hinted at once, and runs", async () => {
    const { say, runs, events } = setUp({ replies: [looks("a", "a", "a", "a", "a"), "Done."] });
    await say("go");
    expect(runs).toHaveLength(5);
    expect(events.map(({ type }) => type)).toEqual(["loop.hint"]);
  });

  it("B3 (iv): text between the calls does not hide the cycle", async () => {
    const chatty = (i: number): Reply => ({ ...looks("a"), content: `Attempt ${i}: ${"x".repeat(i)}` });
    const { say, events } = setUp({ replies: [1, 2, 3, 4].map(chatty).concat("Done.") });
    await say("go");
    expect(events.map(({ type }) => type)).toEqual(["loop.hint", "loop.block"]);
  });

  it("B9 (ii): a tool that throws the same error is answered as without middleware, and found", async () => {
    const { say, events } = setUp({
      replies: ["1", "2", "3"].map(() => looks("throw")),
      rest: "I give up.",
    });
    const messages = await say("go");
    const results = messages.filter((message) => message.getType() === "tool") as ToolMessage[];
    expect(results.map(({ status, text }) => [status, text])).toEqual(
      Array(3).fill(["error", "Error: cannot look at throw\n Please fix your mistakes."]),
    );
    expect(events.map(({ type }) => type)).toEqual(["loop.hint"]);
  });

  it("answers wrong arguments as without middleware", async () => {
    const { say } = setUp({ replies: [callTools(["look", { q: 1 }]), "Sorry."] });
    const messages = await say("go");
    expect((messages[2] as ToolMessage).text).toContain("did not match expected schema");
  });

  it("B10 (i): empty answers are asked again twice, then end the run with a message for the user", async () => {
    const empty: Reply = { content: "", finishReason: "tool_calls" };
    const { say, model, requests, events, state } = setUp({ replies: [], rest: empty });
    const messages = await say("go");
    expect(model.requests).toHaveLength(3);
    expect(requests().map((text) => text.includes("longhaul-notice"))).toEqual([false, true, true]);
    expect(messages).toHaveLength(2);
    expect(sealOf(messages)).toEqual({ status: "NEEDS_HUMAN", reason: "empty" });
    expect(messages[1]!.text).toContain("Stopped without a result");
    expect(events.map(({ type }) => type)).toEqual(["loop.nudge", "loop.nudge", "loop.stop"]);
    expect((await state())._longhaulLoops).toMatchObject({ idleReplies: 3 });
    // a new message begins anew
    expect(sealOf(await say("again"))).toEqual({ status: "NEEDS_HUMAN", reason: "empty" });
    expect(model.requests).toHaveLength(6);
  });

  it("B10 (ii): endless 'continue' after a nudge in other words", async () => {
    const { say, model, requests } = setUp({
      replies: [],
      rest: "Let me continue.",
      options: { nudgeText: "Weiter, bitte." },
    });
    const messages = await say("go");
    expect(model.requests).toHaveLength(3);
    expect(requests()[1]).toContain("Weiter, bitte.");
    expect(sealOf(messages)).toEqual({ status: "NEEDS_HUMAN", reason: "no_progress" });
    expect(messages).toHaveLength(2);
  });

  it("B10: an answer after a nudge is the answer, and nothing idle is stored", async () => {
    const { say } = setUp({ replies: ["", "Let me continue.", "It is 42."] });
    const messages = await say("go");
    expect(messages.map((message) => message.text)).toEqual(["go", "It is 42."]);
  });

  it("B10: the same where wrappers around and inside commit the answer with a state of their own", async () => {
    const seen: (string | undefined)[] = [];
    const committing = (name: string) =>
      createMiddleware({
        name,
        stateSchema: channelSchema("_longhaulRun"),
        wrapModelCall: async (request, handler) => {
          const result = await handler(request);
          if (name === "Outside") seen.push(readSeal(answerOf(result)!)?.reason);
          return commitModelCall(result, {
            _longhaulRun: { v: 1, status: "RUNNING", step: 1, since: 0, resumes: 0 },
          });
        },
      });
    const around = { outside: [committing("Outside")], inside: [committing("Inside")] };
    const ended = setUp({ replies: [], rest: { content: "" }, around });
    const messages = await ended.say("go");
    expect(messages).toHaveLength(2);
    expect(sealOf(messages)).toEqual({ status: "NEEDS_HUMAN", reason: "empty" });

    const nudged = setUp({ replies: ["", "It is 42."], around });
    expect((await nudged.say("go")).map((message) => message.text)).toEqual(["go", "It is 42."]);

    const looped = setUp({ replies: [], rest: looks("a"), around });
    expect(sealOf(await looped.say("go"))).toEqual({ status: "NEEDS_HUMAN", reason: "loop" });
    expect(seen.filter(Boolean)).toEqual(["empty", "loop"]);
  });

  it("keeps structured output alive", async () => {
    const model = new StrictChatModel({
      script: (request) => {
        const name = request.tools.find((it) => it.function.name.startsWith("extract"))!.function.name;
        const before = request.messages.some((message) => wireText(message).includes("same"));
        return before ? callTools([name, { price: 9 }]) : callTools(["look", {}]);
      },
    });
    const agent = createAgent({
      model,
      tools: [tool(() => "same", { name: "look", description: "Looks.", schema: z.object({}) })],
      responseFormat: toolStrategy(z.object({ price: z.number() })),
      middleware: [loopDetectionMiddleware()],
    });
    const result = await agent.invoke({ messages: [new HumanMessage("price?")] });
    expect(result.structuredResponse).toEqual({ price: 9 });
  });

  it("does not change the state that it was given", async () => {
    const { agent, config, say } = setUp({ replies: [looks("a"), "Done."] });
    const frozen = structuredClone(loopState());
    await say("go");
    await agent.graph.updateState(config(), { _longhaulLoops: Object.freeze(frozen) });
    expect(frozen).toEqual(loopState());
  });
});

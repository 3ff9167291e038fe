import { AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MessagesValue, StateGraph, StateSchema } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { InvalidOptionsError } from "../errors.ts";
import type { LonghaulEvent } from "../events/event.ts";
import { channelField } from "../state/channel-fields.ts";
import { progressStop } from "./progress-guard.ts";
import type { ProgressOptions } from "./progress-options.ts";
import { resolveProgressOptions } from "./progress-options.ts";
import type { ProgressState } from "./progress-state.ts";
import { createCheckpointTool, createResetTool } from "./progress-tools.ts";
import { viewAfterReset } from "./view-after-reset.ts";

const State = new StateSchema({
  messages: MessagesValue,
  _longhaulProgress: channelField("_longhaulProgress"),
});
type Values = { messages: BaseMessage[]; _longhaulProgress?: ProgressState };
type Call = readonly [name: string, args: object];

/** A conversation with LangGraph's own tool node: each step is one assistant message with its calls. */
function converse(options: ProgressOptions = {}) {
  const events: LonghaulEvent[] = [];
  const given = { events: (event: LonghaulEvent) => void events.push(event), ...options };
  const look = tool(({ q }: { q: string }) => `found ${q}`, {
    name: "look",
    description: "Looks.",
    schema: z.object({ q: z.string() }),
  });
  const graph = new StateGraph(State)
    .addNode("tools", new ToolNode([createCheckpointTool(given), createResetTool(given), look]))
    .addEdge("__start__", "tools")
    .compile();
  let values: Values = { messages: [new HumanMessage({ id: "h1", content: "Find the cheapest supplier." })] };
  let step = 0;
  return {
    events,
    values: () => values,
    human: (text: string) => {
      values = {
        ...values,
        messages: [...values.messages, new HumanMessage({ id: `h${step}x`, content: text })],
      };
    },
    /** Runs one step; the texts of its results. */
    async step(...calls: readonly Call[]): Promise<string[]> {
      step++;
      const tool_calls = calls.map(([name, args], i) => ({
        name,
        args: args as Record<string, unknown>,
        id: `c${step}_${i}`,
        type: "tool_call" as const,
      }));
      const assistant = new AIMessage({ id: `m${step}`, content: `step ${step}`, tool_calls });
      const before = JSON.stringify(values);
      const next = (await graph.invoke({
        ...values,
        messages: [...values.messages, assistant],
      } as never)) as Values;
      expect(JSON.stringify(values)).toBe(before);
      values = next;
      return values.messages.slice(-calls.length).map((message) => message.text);
    },
  };
}

const saved = (given: object = {}): Call => [
  "checkpoint",
  { goal: "g", facts: [], done: [], todo: ["next"], ...given },
];
const reset: Call = ["reset", {}];

describe("checkpoint and reset", () => {
  it("refuses a reset without a checkpoint, and says what to do", async () => {
    const { step, values, events } = converse();
    const [text] = await step(reset);
    expect(text).toContain("Call checkpoint first");
    expect((values().messages.at(-1) as ToolMessage).status).toBe("error");
    expect(values()._longhaulProgress?.reset).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["reset.refused"]);
  });

  it("grants the first reset after a checkpoint, the next only after one more done", async () => {
    const { step, values } = converse();
    await step(["look", { q: "A" }]);
    await step(saved({ done: ["Collect A"] }));
    expect(await step(reset)).toEqual([expect.stringContaining("cleared")]);
    expect(values()._longhaulProgress).toMatchObject({
      resets: 1,
      doneAtLastReset: 1,
      lastResetCheckpoint: "m2:c2_0",
      reset: { key: "m3:c3_0", assistantId: "m3", step: 3 },
    });
    expect((await step(reset))[0]).toContain("no checkpoint since the last reset");
    await step(saved({ done: ["Collect A"], todo: ["other"], facts: [{ text: "A is 12", source: "look" }] }));
    expect((await step(reset))[0]).toContain("no step was finished since the last reset");
    await step(saved({ done: ["Collect B"] }));
    expect((await step(reset))[0]).toContain("cleared");
    expect(values()._longhaulProgress).toMatchObject({ resets: 2, doneAtLastReset: 2 });
  });

  it("counts done that the cut dropped, so that a long run can go on resetting", async () => {
    const { step, values } = converse({ maxCharacters: 300 });
    for (let i = 0; i < 8; i++) {
      const done = Array.from({ length: i + 1 }, (_, k) => `Finished step number ${k} of the long task`);
      const texts = await step(saved({ done }), reset);
      expect(texts[1]).toContain("cleared");
    }
    expect(values()._longhaulProgress?.doneDigests).toHaveLength(8);
    expect(values()._longhaulProgress?.latest?.done.length).toBeLessThan(8);
  });

  it.each([
    ["checkpoint first", [saved({ done: ["a"] }), reset]],
    ["reset first", [reset, saved({ done: ["a"] })]],
    ["with others around", [["look", { q: "A" }], reset, saved({ done: ["a"] }), ["look", { q: "B" }]]],
  ] as const)("in one batch a checkpoint counts before the reset: %s", async (_, calls) => {
    const { step, values } = converse();
    const texts = await step(...(calls as readonly Call[]));
    expect(texts.filter((text) => text.includes("cleared"))).toHaveLength(1);
    expect(values()._longhaulProgress).toMatchObject({ resets: 1, latest: { todo: ["next"], done: ["a"] } });
  });

  it("takes the last of two checkpoints and the first of two resets in one batch", async () => {
    const { step, values } = converse();
    const texts = await step(saved({ done: ["a"] }), reset, saved({ done: ["b"] }), reset);
    expect(texts[1]).toContain("cleared");
    expect(texts[3]).toContain("one reset in a step");
    expect(values()._longhaulProgress).toMatchObject({
      resets: 1,
      latest: { done: ["b"], key: "m1:c1_2" },
      doneAtLastReset: 2,
    });
  });

  it("a refused checkpoint beside a reset gives it nothing", async () => {
    const { step } = converse();
    const texts = await step(saved({ todo: [] }), reset);
    expect(texts[0]).toContain("Not saved");
    expect(texts[1]).toContain("no checkpoint");
  });

  it("tells what it moved and cut", async () => {
    const { step } = converse({ maxCharacters: 300 });
    const done = Array.from({ length: 10 }, (_, i) => `Finished step number ${i} of the task`);
    const [text] = await step(saved({ facts: [{ text: "B is cheap" }], done }));
    expect(text).toContain("(10 in all)");
    expect(text).toMatch(/Moved to open.*B is cheap/);
    expect(text).toMatch(/Cut to stay within 300 characters: .*done: Finished step number 0/);
  });

  it("warns at the first checkpoint without progress, refuses the second, ends at the third", async () => {
    const { step, values, human } = converse();
    const options = resolveProgressOptions();
    const stop = () => progressStop(values()._longhaulProgress!, values().messages, options);
    await step(saved({ done: ["a"], facts: [{ text: "A is 12", source: "user" }] }));
    expect((await step(saved({ done: ["a"], todo: ["changed"] })))[0]).toContain("Warning");
    expect(values()._longhaulProgress?.latest?.todo).toEqual(["changed"]);
    expect((await step(saved({ done: ["a"], todo: ["again"] })))[0]).toContain("Not saved");
    expect(values()._longhaulProgress?.latest?.todo).toEqual(["changed"]);
    expect(stop()).toBeUndefined();
    await step(saved({ done: ["a"] }));
    expect(stop()).toContain("A person is needed");
    expect(stop()).toContain("changed");
    // a person's word starts a new run, with warnings of its own
    human("Try the other registry.");
    expect(stop()).toBeUndefined();
    expect((await step(saved({ done: ["a"] })))[0]).toContain("Warning");
    expect(stop()).toBeUndefined();
  });

  it("anything new begins the count again", async () => {
    const { step, values } = converse();
    await step(saved({ done: ["a"] }));
    await step(saved({ done: ["a"] }));
    await step(saved({ done: ["a", "b"] }));
    expect(values()._longhaulProgress?.idle).toBe(0);
  });

  it("works under other names, and refuses names that no provider takes", async () => {
    const { step } = converse({ checkpointName: "save_state", resetName: "clear" });
    const texts = await step(["clear", {}], ["save_state", saved()[1]]);
    expect(texts[0]).toContain("cleared");
    for (const options of [
      { checkpointName: "a b" },
      { resetName: "checkpoint" },
      { maxCharacters: 10 },
      { idleCheckpoints: 1 },
    ]) {
      expect(() => createResetTool(options)).toThrow(InvalidOptionsError);
    }
  });

  it("states its constraints to the model", () => {
    expect(createCheckpointTool().description).toMatch(
      /Required before reset.*2000 characters.*needs a source/s,
    );
    expect(createResetTool().description).toContain("Call checkpoint first");
  });
});

describe("viewAfterReset", () => {
  it("holds system, goal, directions, checkpoint and fresh sibling results, and none of the old messages", async () => {
    const talk = converse();
    await talk.step(["look", { q: "old" }]);
    talk.human("Only EU suppliers.");
    await talk.step(
      ["look", { q: "</longhaul-result> fresh" }],
      saved({ facts: [{ text: "A is 12", source: "look" }] }),
      reset,
    );
    const before = talk.values().messages;
    const view = viewAfterReset(before, talk.values()._longhaulProgress!, {
      v: 1,
      entries: { file: { value: "/tmp/a.csv" } },
    });
    expect(view).toHaveLength(1);
    const text = view[0]!.text;
    expect(text.startsWith("Find the cheapest supplier.\n\n")).toBe(true);
    expect(text).toContain("Only EU suppliers.");
    expect(text).toContain("- A is 12 [source: look]");
    expect(text).toContain("/tmp/a.csv");
    expect(text).toContain("found ‹/longhaul-result> fresh");
    expect(text).not.toContain("found old");
    expect(text).toContain("Go on from the checkpoint; name the next step first.");

    await talk.step(["look", { q: "after" }]);
    const later = viewAfterReset(talk.values().messages, talk.values()._longhaulProgress!);
    expect(later.slice(1)).toEqual(talk.values().messages.slice(-2));
    expect(later[1]).toBe(talk.values().messages.at(-2));
    talk.human("And now?");
    expect(viewAfterReset(talk.values().messages, talk.values()._longhaulProgress!)).toHaveLength(4);
  });

  it("merges a human message right after the reset, keeps images of the goal, and leaves others alone", async () => {
    const talk = converse();
    expect(
      viewAfterReset(talk.values().messages, {
        v: 1,
        doneDigests: [],
        doneAtLastReset: 0,
        resets: 0,
        idle: 0,
      }),
    ).toBe(talk.values().messages);
    await talk.step(saved(), reset);
    talk.human("Go on.");
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
    const goal = new HumanMessage({ id: "h1", content: [{ type: "text", text: "Find it." }, image] });
    const messages = [goal, ...talk.values().messages.slice(1)];
    const view = viewAfterReset(messages, talk.values()._longhaulProgress!);
    expect(view).toHaveLength(1);
    expect(view[0]!.content).toContainEqual(image);
    expect(view[0]!.text).toContain("Go on.");
    expect(view[0]!.text).toContain("Find it.");
  });
});

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { progressMark } from "../progress/progress-mark.ts";
import { blockedCall } from "./blocked-call.ts";
import { observeReply } from "./idle-reply.ts";
import type { LoopOptions } from "./loop-options.ts";
import { loopState } from "./loop-state.ts";
import { loopHint } from "./loop-text.ts";
import type { Observation } from "./observation.ts";
import { observeMessages } from "./observe-messages.ts";

let ids = 0;
interface StepGiven {
  readonly text?: string;
  readonly id?: string;
  readonly calls?: undefined | readonly (readonly [tool: string, args: object, result: string | object[]])[];
}

/** One assistant message with its results. */
function step({
  text = "",
  id = `m${ids++}`,
  calls = [["look", {}, "same"]],
}: StepGiven = {}): BaseMessage[] {
  return [
    new AIMessage({
      id,
      content: text,
      tool_calls: calls.map(([name, args], i) => ({
        name,
        args: { ...args },
        id: `call_${i}`,
        type: "tool_call",
      })),
    }),
    ...calls.map(
      ([name, , result], i) =>
        new ToolMessage({ id: `${id}r${i}`, name, tool_call_id: `call_${i}`, content: result as string }),
    ),
  ];
}

/** Observes a growing history before each model call. */
function observeGrowing(steps: readonly (readonly BaseMessage[])[], options?: LoopOptions): Observation[] {
  let state = loopState();
  const messages: BaseMessage[] = [new HumanMessage({ id: "h", content: "go" })];
  return steps.map((added) => {
    messages.push(...added);
    const seen = observeMessages(state, messages, options);
    state = seen.state;
    return seen;
  });
}

const signals = (seen: readonly Observation[]) => seen.map(({ signal }) => signal);
const news = (i: number): StepGiven["calls"] => [["look", { i }, `row ${i} `.repeat(30)]];

describe("observeMessages", () => {
  it("sees each step once, whatever call ids repeat", () => {
    const seen = observeGrowing([step(), step(), step(), step(), step()]);
    expect(signals(seen)).toEqual(["none", "none", "hint", "block", "stop"]);
    expect(seen[2]!.evidence).toContain("look {} gave the same result 3 times");
  });

  it("twice on the same history changes nothing", () => {
    const messages = [new HumanMessage({ id: "h", content: "go" }), ...step(), ...step(), ...step()];
    const first = observeMessages(loopState(), messages);
    const second = observeMessages(first.state, messages);
    expect(second.state).toBe(first.state);
    expect(second.signal).toBe("none");
  });

  it("hints first when it meets a long history, and only about the newest step", () => {
    const history = Array.from({ length: 9 }, () => step()).flat();
    const first = observeMessages(loopState(), history);
    expect(first).toMatchObject({ signal: "hint", kind: "cycle" });
    const left = [...history, ...Array.from({ length: 3 }, (_, i) => step({ calls: news(i) })).flat()];
    expect(observeMessages(loopState(), left).signal).toBe("none");
  });

  it("begins anew with a human message, and goes on where older messages were archived", () => {
    const run = [step(), step()].flat();
    const first = observeMessages(loopState(), [new HumanMessage({ id: "h", content: "go" }), ...run]);
    const again = [
      new HumanMessage({ id: "h", content: "go" }),
      ...run,
      new HumanMessage({ id: "i", content: "again" }),
      ...step(),
    ];
    expect(observeMessages(first.state, again)).toMatchObject({
      signal: "none",
      state: { steps: 1, turn: "i" },
    });
    const archived = step();
    expect(observeMessages(first.state, archived)).toMatchObject({ signal: "hint", state: { steps: 3 } });
  });

  it("judges a whole step: one call of a batch that brings something is enough", () => {
    const batch = (i: number) =>
      step({
        calls: [
          ["a", {}, "No results."],
          ["look", { i }, `row ${i} `.repeat(30)],
        ],
      });
    const seen = observeGrowing(
      Array.from({ length: 9 }, (_, i) => batch(i)),
      { actions: { hint: Number.POSITIVE_INFINITY } },
    );
    expect(new Set(signals(seen))).toEqual(new Set(["none"]));
  });

  it("a checkpoint that moved is progress, an idle one is not", () => {
    const nothing = (i: number) => step({ calls: [["search", { q: `q${i}` }, "No results found."]] });
    const saved = (moved: boolean) => {
      const [assistant] = step({ calls: [["checkpoint", { moved }, ""]] });
      const result = new ToolMessage({
        tool_call_id: "call_0",
        content: "Saved.",
        additional_kwargs: progressMark(moved),
      });
      return [assistant!, result];
    };
    const five = Array.from({ length: 5 }, (_, i) => nothing(i));
    expect(signals(observeGrowing([...five, saved(true)])).at(-1)).toBe("none");
    expect(signals(observeGrowing([...five, saved(false)])).at(-1)).toBe("hint");
  });

  it("two different screenshots are two results", () => {
    const shot = (data: string) =>
      step({ calls: [["look", {}, [{ type: "image_url", image_url: { url: data } }]]] });
    const changing = observeGrowing([shot("data:a"), shot("data:b"), shot("data:c")]);
    expect(signals(changing)).toEqual(["none", "none", "none"]);
    expect(signals(observeGrowing([shot("data:a"), shot("data:a"), shot("data:a")]))).toEqual([
      "none",
      "none",
      "hint",
    ]);
  });

  it("blocks exactly the repeated call, until the loop is left", () => {
    const seen = observeGrowing([step(), step(), step(), step(), step({ calls: news(1) })]);
    const call = { name: "look", args: {}, id: "x" };
    expect(seen.map(({ state }) => blockedCall(state, call) !== undefined)).toEqual([
      false,
      false,
      false,
      true,
      false,
    ]);
    expect(blockedCall(seen[3]!.state, { ...call, args: { other: 1 } })).toBeUndefined();
    expect(blockedCall(seen[3]!.state, call)).toMatchObject({ status: "error", tool_call_id: "x" });
  });

  it("never throws, never changes what it was given, for any history", () => {
    const message = fc.oneof(
      fc.constant(new HumanMessage({ id: "h", content: "go" })),
      fc
        .record({
          text: fc.string(),
          calls: fc.array(fc.constantFrom("a", "b"), { maxLength: 3 }),
          id: fc.option(fc.string(), { nil: undefined }),
        })
        .map(
          ({ text, calls, id }) =>
            new AIMessage({
              ...(id !== undefined && { id }),
              content: text,
              tool_calls: calls.map((name) => ({ name, args: {}, id: "call_0", type: "tool_call" as const })),
            }),
        ),
      fc.string().map((content) => new ToolMessage({ content, tool_call_id: "call_0" })),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
        const before = JSON.stringify(messages);
        let { state } = observeMessages(loopState(), messages.slice(0, 7));
        ({ state } = observeMessages(state, messages));
        expect(JSON.stringify(messages)).toBe(before);
        expect(JSON.parse(JSON.stringify(state))).toEqual(state);
      }),
      { seed: 2 },
    );
  });
});

describe("texts", () => {
  const plan =
    "I will now open the page of the supplier and read what it says about prices and certificates.";

  it("hints when three steps in a row say the same, and not for two or for different ones", () => {
    const say = (text: string, i: number) => step({ text, calls: news(i) });
    expect(signals(observeGrowing([say(plan, 1), say(plan, 2)]))).toEqual(["none", "none"]);
    const same = observeGrowing([say(plan, 1), say(plan, 2), say(`${plan}  `, 3), say(plan, 4)]);
    expect(signals(same)).toEqual(["none", "none", "hint", "none"]);
    expect(same[2]).toMatchObject({ kind: "similar" });
    const other = plan.replace("prices", "terms").replace("page", "appendix");
    expect(signals(observeGrowing([say(plan, 1), say(other, 2), say(plan, 3)]))).toEqual([
      "none",
      "none",
      "none",
    ]);
    const chinese = "我现在要打开供应商的页面，阅读其中关于价格和证书的说明，然后记录下来。";
    expect(signals(observeGrowing([1, 2, 3].map((i) => say(chinese, i))))).toEqual(["none", "none", "hint"]);
    expect(signals(observeGrowing([1, 2, 3].map((i) => say("Next page.", i))))).toEqual([
      "none",
      "none",
      "none",
    ]);
  });

  it("B10 (iii): one sentence twenty times in one answer is flagged", () => {
    for (const sentence of ["I need to check the price list again. ", "我需要再检查一次价格表。"]) {
      const [seen] = observeGrowing([step({ text: sentence.repeat(20), calls: news(1) })]);
      expect(seen).toMatchObject({ signal: "hint", kind: "chant" });
    }
    const nine = observeGrowing([
      step({ text: "I need to check the price list again. ".repeat(9), calls: news(1) }),
    ]);
    expect(signals(nine)).toEqual(["none"]);
  });

  it("B10 (iv): tables, frames, dividers and code are not flagged", () => {
    const table = `| item | state |\n|---|---|\n${"| supplier | unknown, to be checked later |\n".repeat(60)}`;
    const frame = `┌${"─".repeat(60)}┐\n${`│${" ".repeat(60)}│\n`.repeat(20)}└${"─".repeat(60)}┘`;
    const code = `\`\`\`\n${"await page.close(); // close the page again\n".repeat(30)}\`\`\``;
    for (const text of [table, frame, code, "----------------------------\n".repeat(40)]) {
      const run = [1, 2, 3].map((i) => step({ text, calls: news(i) }));
      expect(signals(observeGrowing(run))).toEqual(["none", "none", "none"]);
    }
  });
});

describe("observeReply", () => {
  const reply = (content: string, called = false) =>
    new AIMessage({
      content,
      tool_calls: called ? [{ name: "look", args: {}, id: "c", type: "tool_call" }] : [],
    });

  it("B10: counts in state, in a row: two nudges, then the end", () => {
    let state = loopState();
    const verdicts = ["", "Let me continue.", " ", "x"].map((text) => {
      const seen = observeReply(state, reply(text));
      state = seen.state;
      return [seen.verdict, seen.reason];
    });
    expect(verdicts).toEqual([
      ["nudge", "empty"],
      ["nudge", "no_progress"],
      ["end", "empty"],
      ["accept", undefined],
    ]);
    expect(state.idleReplies).toBe(0);
    expect(observeReply(loopState(), reply(""), { nudges: 0 }).verdict).toBe("end");
  });

  it.each([
    "Let me continue.",
    "OK, continuing now.",
    "I'll proceed with the next step.",
    "好的，继续。",
    "让我继续。",
    "Going on.",
  ])("B10: %j only announces", (text) => {
    expect(observeReply(loopState(), reply(text)).verdict).toBe("nudge");
    expect(observeReply(loopState(), reply(text, true)).verdict).toBe("accept");
  });

  it.each([
    "42",
    "Shall I continue?",
    "Let me know if you need more.",
    "Continuous integration is green.",
    "I will be on time.",
    "Done.",
  ])("%j is an answer", (text) => {
    expect(observeReply(loopState(), reply(text)).verdict).toBe("accept");
  });

  it("an accepted answer leaves the state as it is", () => {
    const state = loopState();
    expect(observeReply(state, reply("42")).state).toBe(state);
  });
});

describe("loopHint", () => {
  it("B9: of an empty result it says that the answer is final", () => {
    const seen = observeGrowing([1, 2, 3].map(() => step({ calls: [["memory", { q: "x" }, "empty"]] })));
    expect(loopHint(seen[2]!)).toMatchObject({ kind: "loop", text: expect.stringContaining("final") });
    expect(loopHint(seen[2]!).text).toContain("memory");
  });
});

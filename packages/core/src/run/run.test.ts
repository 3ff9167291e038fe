import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { assertPermitted, canMove, move, permits } from "./run-machine.ts";
import { RUN_STATUSES, readRunState } from "./run-state.ts";
import { beginStep, endStep, readResumeNotice } from "./run-step.ts";
import { latestAnswer, readSeal, type Seal, sealed, sealMessage } from "./seal.ts";

const start = readRunState(undefined);
const answer = (calls = 0) =>
  new AIMessage({
    content: "text",
    tool_calls: Array.from({ length: calls }, (_, i) => ({
      name: "t",
      args: {},
      id: `c${i}`,
      type: "tool_call" as const,
    })),
  });
const seal: Seal = { status: "PAUSED", reason: "budget:tokens" };

describe("run machine", () => {
  it("allows what the table says and throws for the rest", () => {
    expect(() => move({ ...start, status: "COMPLETED" }, "WAITING_TOOL", { now: 1 })).toThrow(
      expect.objectContaining({ code: "FORBIDDEN_MOVE", from: "COMPLETED", wanted: "WAITING_TOOL" }),
    );
    for (const from of RUN_STATUSES) {
      expect(canMove(from, from)).toBe(true);
      // Nothing is a dead end, and nothing returns to the beginning.
      expect(RUN_STATUSES.some((to) => to !== from && canMove(from, to))).toBe(true);
      if (from !== "INIT") expect(canMove(from, "INIT")).toBe(false);
    }
  });

  it("permits no thinking while tools run, and nothing new while recovering", () => {
    expect(permits("WAITING_TOOL", "model")).toBe(false);
    expect(permits("RECOVERING", "tool")).toBe(false);
    expect(permits("WAITING_TOOL", "tool")).toBe(true);
    expect(() => assertPermitted("COMPLETED", "tool")).toThrow(
      expect.objectContaining({ code: "FORBIDDEN_MOVE" }),
    );
  });

  it("keeps the reason with the state it was given for, and the time of the last change", () => {
    const paused = move({ ...start, status: "RUNNING", since: 5 }, "PAUSED", {
      now: 9,
      stopReason: "drained",
      partial: true,
    });
    expect(paused).toMatchObject({ since: 9, stopReason: "drained", partial: true });
    const running = move(paused, "RUNNING", { now: 12 });
    expect(running).not.toHaveProperty("stopReason");
    expect(move(running, "RUNNING", { now: 40 }).since).toBe(12);
  });
});

describe("run step", () => {
  it("reads the end of a step from the answer", () => {
    const running = beginStep(start, 1);
    expect(endStep(running, answer(1), false, 2)).toMatchObject({ status: "WAITING_TOOL", step: 1 });
    expect(endStep(running, answer(), false, 2)).toMatchObject({
      status: "COMPLETED",
      stopReason: "final_answer",
    });
    expect(endStep(running, answer(1), true, 2)).toMatchObject({ status: "COMPLETED" });
    expect(endStep(running, sealMessage(seal, "x"), false, 2)).toMatchObject({
      status: "PAUSED",
      stopReason: "budget:tokens",
      partial: true,
    });
    expect(endStep(running, undefined, true, 2)).toMatchObject({ status: "COMPLETED" });
  });

  it("copies the failure of a resume, and the next success removes it", () => {
    const resumed = endStep(
      beginStep(start, 1, { note: "n", lastFailure: "ECONNRESET" }),
      answer(1),
      false,
      2,
    );
    expect(resumed).toMatchObject({ resumes: 1, lastFailure: "ECONNRESET" });
    expect(endStep(beginStep(resumed, 3), answer(1), false, 4)).not.toHaveProperty("lastFailure");
    expect(readResumeNotice({ note: 3 })).toBeUndefined();
    expect(readResumeNotice("x")).toBeUndefined();
  });

  it.each([
    [{ v: 2 }],
    ["x"],
    [{ v: 1, status: "ODD", step: 0, since: 0, resumes: 0 }],
    [{ v: 1, status: "INIT", step: -1, since: 0, resumes: 0 }],
  ])("refuses the state %j", (value) => {
    expect(() => readRunState(value)).toThrow(expect.objectContaining({ code: "STATE_FORMAT" }));
  });
});

describe("seal", () => {
  it("takes calls out in every form and keeps the rest, without touching the original", () => {
    const original = new AIMessage({
      id: "m1",
      content: [
        { type: "thinking", thinking: "hm", signature: "s" },
        { type: "text", text: "partial" },
        { type: "tool_use", id: "c0", name: "t", input: {} },
      ],
      tool_calls: [{ name: "t", args: {}, id: "c0", type: "tool_call" }],
      additional_kwargs: {
        tool_calls: [{ id: "c0", type: "function", function: { name: "t", arguments: "{}" } }],
        other: 1,
      },
    });
    const before = JSON.stringify(original);
    const copy = sealed(original, seal, { withoutCalls: true });
    expect(JSON.stringify(original)).toBe(before);
    expect(copy.id).toBe("m1");
    expect(copy.tool_calls).toEqual([]);
    expect(copy.additional_kwargs).toEqual({ other: 1 });
    expect(JSON.stringify(copy.content)).toBe(
      '[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"partial"}]',
    );
    expect(readSeal(copy)).toEqual(seal);
  });

  it("keeps calls unless told otherwise, and fills an answer that would be empty", () => {
    expect(sealed(answer(2), seal).tool_calls).toHaveLength(2);
    expect(
      sealed(new AIMessage({ content: " " }), seal, { withoutCalls: true, emptyText: "report" }).content,
    ).toBe("report");
    expect(
      sealed(new AIMessage({ content: [] }), seal, { withoutCalls: true, emptyText: "report" }).content,
    ).toBe("report");
  });

  it("is found from any answer that it replaced", () => {
    const original = answer();
    const twice = sealed(sealed(original, seal), { status: "NEEDS_HUMAN", reason: "loop" });
    expect(latestAnswer(original)).toBe(twice);
    expect(latestAnswer(twice)).toBe(twice);
  });
});

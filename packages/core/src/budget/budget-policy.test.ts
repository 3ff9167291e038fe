import { fakeClock } from "@longhaul/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ActiveTime } from "./active-time.ts";
import { type BudgetOptions, resolveBudgetOptions } from "./budget-options.ts";
import { phaseAt } from "./budget-phases.ts";
import { budgetPosition } from "./budget-policy.ts";
import { newRecord } from "./budget-record.ts";
import { type BudgetMirror, type BudgetTotals, ZERO_TOTALS } from "./budget-state.ts";
import { mirrorAfter, planAfterRefusal, planStep } from "./budget-step.ts";

const times = { now: 1_000, openedAt: 0 };
const off = { time: null, modelCalls: null, toolCalls: null, steps: null };
const tokensOnly = (tokens: number, more: BudgetOptions = {}) => {
  const { time: _time, ...limits } = off;
  return resolveBudgetOptions({ ...more, limits: { ...limits, timeMs: null, tokens, ...more.limits } });
};
const spent = (tokens: number): BudgetTotals => ({ ...ZERO_TOTALS, inputTokens: tokens });

describe("resolveBudgetOptions", () => {
  it("has the presets of the documentation, and lets limits be changed and switched off", () => {
    expect(resolveBudgetOptions().limits).toEqual({
      tokens: 500_000,
      time: 3_600_000,
      modelCalls: 100,
      toolCalls: 200,
      steps: 100,
    });
    expect(
      resolveBudgetOptions({ preset: "simple", limits: { tokens: 5_000, timeMs: null } }).limits,
    ).toEqual({
      tokens: 5_000,
      modelCalls: 50,
      toolCalls: 100,
      steps: 50,
    });
  });

  it.each([
    { limits: { tokens: 1_999 } },
    { limits: { modelCalls: 1 } },
    { limits: { steps: 1 } },
    { limits: { timeMs: 10 } },
  ])("refuses limits below one step and the closing answer: %j", (options) => {
    expect(() => resolveBudgetOptions(options)).toThrow(
      expect.objectContaining({ code: "BUDGET_TOO_SMALL" }),
    );
  });

  it.each<BudgetOptions>([
    { preset: "huge" as "simple" },
    { preset: "toString" as "simple" },
    { reserve: -0.1 },
    { reserve: Number.NaN },
    { limits: { tokens: Number.NaN } },
    { limits: { tokens: 5_000.5 } },
    { limits: { toolCalls: -1 } },
    { limits: { concurrency: 0 } },
    { limits: { cost: 1 } },
    { limits: { cost: 0 }, prices: { "*": { input: 1, output: 1 } } },
    { prices: { a: { input: -1, output: 0 } } },
    { levels: { economy: 0.9, essential: 0.8 } },
    {
      phases: [
        { name: "a", share: 0.7 },
        { name: "b", share: 0.7 },
      ],
    },
    { phases: [{ name: "a", share: 0 }] },
  ])("refuses %j", (options) => {
    expect(() => resolveBudgetOptions(options)).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS" }));
  });
});

describe("levels", () => {
  const budget = tokensOnly(10_000);
  it.each([
    [5_949, "normal"],
    [5_950, "economy"],
    [7_224, "economy"],
    [7_225, "essential"],
    [8_074, "essential"],
    [8_075, "wrap-up"],
    [9_999, "wrap-up"],
    [10_000, "stop"],
  ])("E11 at %i of 10,000 tokens is %s", (tokens, level) => {
    expect(budgetPosition(spent(tokens), budget, times).level).toBe(level);
  });

  it("E9 counts active time, and a deadline by the wall clock", () => {
    const active = resolveBudgetOptions({ limits: { timeMs: 600_000 } });
    const five = { ...ZERO_TOTALS, activeMs: 300_000 };
    const later = { openedAt: 0, now: 22 * 3_600_000 };
    expect(budgetPosition(five, active, later)).toMatchObject({
      level: "normal",
      nearest: { limit: "time", used: 300_000 },
    });
    const deadline = resolveBudgetOptions({ limits: { timeMs: 600_000, deadline: 8 * 3_600_000 } });
    expect(budgetPosition(five, deadline, { openedAt: 0, now: 8 * 3_600_000 - 1 }).level).toBe("wrap-up");
    expect(budgetPosition(five, deadline, later)).toMatchObject({
      level: "stop",
      nearest: { limit: "deadline" },
    });
  });

  it("always leaves one model call for the closing answer", () => {
    const two = resolveBudgetOptions({ limits: { modelCalls: 2 }, reserve: 0 });
    expect(budgetPosition({ ...ZERO_TOTALS, modelCalls: 1 }, two, times).level).toBe("wrap-up");
  });

  it("does not end a run that was given no tool calls", () => {
    const none = resolveBudgetOptions({ limits: { toolCalls: 0 } });
    expect(budgetPosition(ZERO_TOTALS, none, times).level).toBe("normal");
  });

  it("E11 announces each level once and in order, whatever the steps", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(steps, (sizes) => {
        const told: string[] = [];
        let mirror: BudgetMirror | undefined;
        let tokens = 0;
        for (const size of sizes) {
          const record = { ...newRecord("r", 0), totals: spent(tokens) };
          const input = { record, budget, mirror, now: 1 };
          const plan = planStep(input);
          told.push(...plan.crossed);
          expect(plan.mode).toBe(
            plan.level === "stop" ? "stop" : plan.level === "wrap-up" ? "closing" : "ordinary",
          );
          tokens += size;
          mirror = mirrorAfter({ ...input, record: { ...record, totals: spent(tokens) } }, plan);
          if (plan.mode === "stop") break;
        }
        expect(told).toEqual(["economy", "essential", "wrap-up", "stop"].slice(0, told.length));
      }),
      { seed: 3 },
    );
  });

  it("E11 tells a level again after a crash lost the answer, and again after the limit was raised", () => {
    const record = { ...newRecord("r", 0), totals: spent(6_000) };
    const input = { record, budget, now: 1 };
    const plan = planStep(input);
    expect(plan.notices).toHaveLength(1);
    expect(planStep(input).notices).toHaveLength(1);
    const mirror = mirrorAfter(input, plan);
    expect(planStep({ ...input, mirror }).notices).toHaveLength(0);
    const raised = { ...input, mirror, budget: tokensOnly(100_000) };
    expect(planStep(raised)).toMatchObject({ level: "normal", crossed: [] });
    const told = mirrorAfter(raised, planStep(raised));
    expect(told.announced).toBe("normal");
    const other = { ...mirror, run: "older run" };
    expect(planStep({ ...input, mirror: other }).crossed).toEqual(["economy"]);
  });

  it("E11 makes of a refused call a closing one, and of that a stop", () => {
    const input = { record: newRecord("r", 0), budget, now: 1 };
    const closing = planAfterRefusal(input, planStep(input), "tokens");
    expect(closing).toMatchObject({
      mode: "closing",
      cause: "tokens",
      crossed: ["economy", "essential", "wrap-up"],
    });
    expect(planAfterRefusal(input, closing, "modelCalls")).toMatchObject({ mode: "stop", cause: "tokens" });
  });

  it("E1 stops a strict run whose provider does not report", () => {
    const record = { ...newRecord("r", 0), unmeasuredCalls: 1 };
    expect(planStep({ record, budget: tokensOnly(10_000, { strict: true }), now: 1 })).toMatchObject({
      mode: "stop",
      cause: "unmeasured",
    });
    expect(planStep({ record, budget, now: 1 }).mode).toBe("ordinary");
  });
});

describe("phases", () => {
  const phases = [
    { name: "gather", share: 0.4 },
    { name: "analyse", share: 0.4 },
    { name: "write", share: 0.2 },
  ];
  it("begins the next at the end of one, warns before, and hands on what was left", () => {
    const at = (share: number, entered?: string, borrow = false) =>
      phaseAt({ phases, borrow }, share, entered);
    expect(at(0.1)).toMatchObject({ phase: "gather", nearEnd: false });
    expect(at(0.35)).toMatchObject({ phase: "gather", nearEnd: true, next: "analyse" });
    expect(at(0.4)).toMatchObject({ phase: "analyse", nearEnd: false });
    // Entered early: what gathering left is there for analysing.
    expect(at(0.2, "analyse")).toMatchObject({ phase: "analyse", nearEnd: false });
    expect(at(0.75, "analyse")).toMatchObject({ phase: "analyse", nearEnd: true });
    expect(at(0.99)).toMatchObject({ phase: "write", nearEnd: false });
    expect(at(0.6, "gather", true)).toMatchObject({ phase: "gather", nearEnd: true });
    expect(phaseAt({ phases: [], borrow: false }, 0.5)).toBeUndefined();
  });
});

describe("ActiveTime", () => {
  it("E9 counts work only: no waiting between spans, parallel spans once", async () => {
    const clock = fakeClock();
    const time = new ActiveTime(clock);
    let active = 0;
    time.enter("r");
    await clock.advance(180_000);
    active += time.leave("r");
    await clock.advance(22 * 3_600_000);
    time.enter("r");
    time.enter("r");
    await clock.advance(60_000);
    active += time.leave("r");
    await clock.advance(60_000);
    active += time.leave("r");
    expect(active).toBe(300_000);
  });

  it("E9 neither gains nor loses when the wall clock is set back or the machine sleeps", () => {
    let monotonic = 0;
    const time = new ActiveTime({ monotonic: () => monotonic });
    time.enter("r");
    // Six hours of sleep and a wall clock set back by one: neither is seen by the monotonic clock.
    monotonic = 1_000;
    expect(time.leave("r")).toBe(1_000);
    expect(time.leave("unknown")).toBe(0);
  });
});

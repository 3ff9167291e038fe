import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contextLimits, resolveContextOptions } from "./context-options.ts";
import { type FoldInput, foldConditions, isFruitful, planFold } from "./plan-fold.ts";

const limits = (options: { window: number; softLimit?: number; hardLimit?: number }) =>
  contextLimits(resolveContextOptions(options));

function input(overrides: Partial<FoldInput> = {}): FoldInput {
  return {
    groups: [],
    floor: 500,
    limits: limits({ window: 32_000, softLimit: 4_000 }),
    memory: { fruitless: 0 },
    step: 50,
    humanTurns: 1,
    fold: "batched",
    every: 5,
    ...overrides,
  };
}

const steps = (...tokens: number[]) => tokens.map((count) => ({ isStep: true, tokens: count }));
const human = (tokens: number) => ({ isStep: false, tokens });

describe("planFold", () => {
  it("folds all but a quarter of the soft limit once that is passed, in whole groups", () => {
    expect(planFold(input({ groups: steps(...Array(8).fill(500)) }))).toMatchObject({
      due: false,
      reason: "below",
    });
    expect(planFold(input({ groups: steps(...Array(9).fill(500)) }))).toMatchObject({ due: true, count: 7 });
  });

  it("A16: the newest step and the turn behind it stay, and so does a turn in front of the tail", () => {
    const groups = [...steps(3_000, 1_500), human(20)];
    expect(planFold(input({ groups }))).toMatchObject({ due: true, count: 1 });
    const before = [...steps(3_000, 900), human(20), ...steps(3_000)];
    expect(planFold(input({ groups: before }))).toMatchObject({ due: true, count: 2 });
    expect(planFold(input({ groups: [human(9_000)] }))).toMatchObject({ due: false, reason: "nothing" });
  });

  it("A5: nothing outside the kept tail, nothing to fold", () => {
    expect(planFold(input({ groups: [human(100), ...steps(9_000)] }))).toMatchObject({
      due: false,
      reason: "nothing",
    });
  });

  it("A18: a floor above the trigger is no reason for summaries that cannot help", () => {
    const tight = limits({ window: 8_000, hardLimit: 6_000 });
    const lines = input({ limits: tight, floor: 6_300, groups: steps(12, 12, 12, 12, 12) });
    expect(planFold(lines)).toMatchObject({ due: false, reason: "small-gain" });
    expect(planFold(input({ limits: tight, floor: 200, groups: steps(6_500) }))).toMatchObject({
      reason: "nothing",
    });
  });

  it("A18: after two fruitless tries none until a user turn, other options or a smaller floor", () => {
    const base = input({ floor: 27_000, groups: steps(3_000, 3_000, 3_000) });
    const mark = { conditions: foldConditions(base), floor: 27_000 };
    const tired = { ...base, memory: { fruitless: 2, fruitlessMark: mark } };
    expect(planFold(tired)).toMatchObject({ due: false, reason: "fruitless" });
    expect(planFold({ ...tired, humanTurns: 2 }).due).toBe(true);
    expect(planFold({ ...tired, floor: 20_000 }).due).toBe(true);
    expect(planFold({ ...tired, limits: limits({ window: 34_000, softLimit: 4_000 }) }).due).toBe(true);
    expect(planFold({ ...tired, memory: { fruitless: 1, fruitlessMark: mark } }).due).toBe(true);
  });

  it("A18: after a fold none before the context has really grown, unless the hard limit is passed", () => {
    const groups = steps(4_200, 100);
    const memory = { fruitless: 0, lastFold: { step: 48, workingTokens: 4_200 } };
    expect(planFold(input({ groups, memory }))).toMatchObject({ due: false, reason: "not-grown" });
    expect(planFold(input({ groups, memory, floor: 22_000 })).due).toBe(true);
    expect(planFold(input({ groups: steps(4_200, 900), memory })).due).toBe(true);
  });

  it("A4: pauses after a failure, above the hard limit too", () => {
    const groups = steps(9_000, 9_000, 9_000);
    const memory = { fruitless: 0, pauseUntilStep: 55 };
    expect(planFold(input({ groups, memory }))).toMatchObject({ due: false, reason: "paused" });
    expect(planFold(input({ groups, memory, step: 55 })).due).toBe(true);
  });

  it("waits for the model's own reset for two turns, not above the hard limit", () => {
    const groups = steps(...Array(9).fill(500));
    expect(planFold(input({ groups, ask: { times: 1 } }))).toMatchObject({ due: false, reason: "waiting" });
    expect(planFold(input({ groups, ask: { times: 2 } })).due).toBe(true);
    expect(planFold(input({ groups, ask: { times: 0 }, floor: 22_000 })).due).toBe(true);
  });

  it("eager: every five steps, the newest one stays", () => {
    const eager = { fold: "eager" as const };
    expect(planFold(input({ ...eager, groups: steps(...Array(5).fill(300)) }))).toMatchObject({ due: false });
    expect(planFold(input({ ...eager, groups: steps(...Array(6).fill(300)) }))).toMatchObject({
      due: true,
      count: 5,
    });
    const talk = [human(30), ...steps(...Array(6).fill(300))];
    expect(planFold(input({ ...eager, groups: talk }))).toMatchObject({ due: true, count: 6 });
    expect(planFold(input({ ...eager, groups: steps(...Array(6).fill(20)) }))).toMatchObject({
      reason: "small-gain",
    });
  });

  it("any fold ends with a step, keeps the newest one and frees a fifth at least by its own estimate", () => {
    const group = fc.record({ isStep: fc.boolean(), tokens: fc.nat(4_000) });
    fc.assert(
      fc.property(
        fc.array(group, { maxLength: 40 }),
        fc.nat(30_000),
        fc.boolean(),
        (groups, floor, eager) => {
          const plan = planFold(input({ groups, floor, fold: eager ? "eager" : "batched" }));
          if (!plan.due) return;
          expect(groups[plan.count - 1]?.isStep).toBe(true);
          expect(groups.slice(plan.count).some(({ isStep }) => isStep)).toBe(true);
          const tokens = (list: typeof groups) => list.reduce((sum, { tokens: count }) => sum + count, 0);
          expect(tokens(groups.slice(0, plan.count))).toBeGreaterThanOrEqual(0.2 * tokens(groups));
        },
      ),
      { seed: 7, numRuns: 500 },
    );
  });

  it("a fold is fruitful when it frees its share and gets below the limit", () => {
    expect(isFruitful(5_000, 1_000, 4_000)).toBe(true);
    expect(isFruitful(5_000, 4_500, 4_600)).toBe(false);
    expect(isFruitful(9_000, 5_000, 4_000)).toBe(false);
  });
});

import type { WireMessage } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { brain } from "../brain/brain.ts";
import { goalText, SYSTEM_PROMPT } from "../world/goal.ts";
import { memoryLoop } from "./memory-loop.ts";
import { runWorld } from "./run-world.ts";
import { simpleLoop } from "./simple-loop.ts";

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

function runSimple(
  seed: number,
  visible: (history: readonly WireMessage[]) => readonly WireMessage[],
  goal = goalText,
) {
  return runWorld(seed, (catalogue, tools) =>
    simpleLoop({ script: brain, tools, systemPrompt: SYSTEM_PROMPT, goal: goal(catalogue), visible }),
  );
}

/** Goal and the last ten messages, cut where a step begins. */
function lastTen(history: readonly WireMessage[]): readonly WireMessage[] {
  const goal = history[0] as WireMessage;
  let start = Math.max(1, history.length - 10);
  while (history[start]?.role === "tool") start++;
  return [goal, ...history.slice(start)];
}

describe("the brain in a simple loop", () => {
  it.each(SEEDS)("reaches the right answer with its whole history, seed %i", async (seed) => {
    const { verdict, steps, faults, finalText } = await runSimple(seed, (history) => history);
    expect(verdict, finalText).toMatchObject({ right: true });
    expect(faults).toEqual([]);
    expect(steps).toBeGreaterThan(110);
    expect(steps).toBeLessThan(170);
  });

  it.each(SEEDS)("gives a wrong answer with the last ten messages, and ends, seed %i", async (seed) => {
    const { verdict, steps } = await runSimple(seed, lastTen);
    expect(verdict).toMatchObject({ right: false });
    expect(steps).toBeLessThan(170);
  });

  it("breaks a prohibition that it cannot see", async () => {
    const { faults } = await runSimple(
      3,
      (history) => history,
      (catalogue) => goalText(catalogue).replace(/Never contact.*\n/, ""),
    );
    expect(faults).toContainEqual(expect.stringMatching(/^unwanted quote:S/));
    expect(faults).toContainEqual(expect.stringMatching(/^unwanted order:/));
  });
});

describe("the brain in a layered context", () => {
  const run = (seed: number, fields: { softChars: number; resultChars: number; askForReset: boolean }) =>
    runWorld(seed, (catalogue, tools) =>
      memoryLoop({ script: brain, tools, systemPrompt: SYSTEM_PROMPT, goal: goalText(catalogue), ...fields }),
    );

  it.each(SEEDS.slice(0, 8))(
    "keeps what it needs over folds, resets and cut results, seed %i",
    async (seed) => {
      const result = await run(seed, { softChars: 40_000, resultChars: 8_000, askForReset: true });
      expect(result.verdict, result.finalText).toMatchObject({ right: true });
      expect(result.faults).toEqual([]);
      expect(result.resets).toBeGreaterThanOrEqual(2);
      expect(result.folds).toBeGreaterThanOrEqual(2);
      expect(result.recalls).toBeGreaterThanOrEqual(5);
      expect(result.largestCheckpoint).toBeLessThanOrEqual(2_000);
      expect(result.largestView).toBeLessThan(70_000);
      expect(result.steps).toBeLessThan(200);
    },
  );

  it.each([1, 2, 3])("lives with folds alone, seed %i", async (seed) => {
    const result = await run(seed, { softChars: 20_000, resultChars: 8_000, askForReset: false });
    expect(result.verdict, result.finalText).toMatchObject({ right: true });
    expect(result.folds).toBeGreaterThan(20);
    expect(result.resets).toBe(0);
  });
});

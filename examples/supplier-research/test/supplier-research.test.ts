import { ToolWorld, type WireMessage } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { brain } from "../brain/brain.ts";
import { createResearchTools } from "../tools.ts";
import { makeCatalogue } from "../world/catalogue.ts";
import { checkAnswer, effectFaults, issuedQuotes } from "../world/check-answer.ts";
import { goalText, SYSTEM_PROMPT } from "../world/goal.ts";
import { simpleLoop } from "./simple-loop.ts";

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

async function run(seed: number, visible?: (history: readonly WireMessage[]) => readonly WireMessage[]) {
  const catalogue = makeCatalogue(seed);
  const world = ToolWorld.open(":memory:");
  try {
    const { finalText, steps, transcript } = await simpleLoop({
      script: brain,
      tools: createResearchTools({ catalogue, world }),
      systemPrompt: SYSTEM_PROMPT,
      goal: goalText(catalogue),
      ...(visible ? { visible } : {}),
    });
    const verdict = checkAnswer(catalogue, finalText, issuedQuotes(world));
    return { verdict, steps, transcript, finalText, faults: effectFaults(catalogue, world.effects()) };
  } finally {
    world.close();
  }
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
    const { verdict, steps, faults, finalText } = await run(seed);
    expect(verdict, finalText).toMatchObject({ right: true });
    expect(faults).toEqual([]);
    expect(steps).toBeGreaterThan(110);
    expect(steps).toBeLessThan(170);
  });

  it.each(SEEDS)("gives a wrong answer with the last ten messages, and ends, seed %i", async (seed) => {
    const { verdict, steps } = await run(seed, lastTen);
    expect(verdict).toMatchObject({ right: false });
    expect(steps).toBeLessThan(170);
  });
});

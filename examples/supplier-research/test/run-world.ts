import type { StructuredToolInterface } from "@langchain/core/tools";
import { ToolWorld } from "@longhaul/test-kit";
import { createResearchTools } from "../tools.ts";
import { type Catalogue, makeCatalogue } from "../world/catalogue.ts";
import { type AnswerVerdict, checkAnswer, effectFaults, issuedQuotes } from "../world/check-answer.ts";

/** Runs an agent in a fresh world of a seed and judges what it answered and did. */
export async function runWorld<T extends { readonly finalText: string }>(
  seed: number,
  agent: (catalogue: Catalogue, tools: StructuredToolInterface[]) => Promise<T>,
): Promise<T & { readonly verdict: AnswerVerdict; readonly faults: readonly string[] }> {
  const catalogue = makeCatalogue(seed);
  const world = ToolWorld.open(":memory:");
  try {
    const result = await agent(catalogue, createResearchTools({ catalogue, world }));
    return {
      ...result,
      verdict: checkAnswer(catalogue, result.finalText, issuedQuotes(world)),
      faults: effectFaults(catalogue, world.effects()),
    };
  } finally {
    world.close();
  }
}

import { type Fact, type FoundFact, factKey, noteOf, SOURCE_OF } from "./facts.ts";
import { idOf } from "./next-step.ts";
import { type Position, progressNote } from "./progress.ts";
import { type Call, ordinal, type View } from "./view.ts";

const DETAILS: readonly Fact["kind"][] = ["price", "discount", "setup", "soc2", "registry"];

/** Arguments of Longhaul's `checkpoint`: what later steps need, and no more than fits its 2,000 characters. */
export function checkpointArgs(view: View, position: Position): Call["args"] {
  const k = Math.floor(position.read / 5) + 1;
  const kept = neededFacts([...view.facts.values()], position).map(({ fact }) => ({
    text: noteOf(fact),
    source: SOURCE_OF[fact.kind],
  }));
  return {
    goal: `Cheapest compliant supplier for ${view.seats} seats; answer with supplier, EUR and quote.`,
    facts: kept,
    done: k > 1 ? [`Suppliers up to ${idOf(k - 1)} read, step ${position.read}`] : ["Work begun"],
    todo: [`Go on from here. ${progressNote(position)}`],
    open: [],
  };
}

/**
 * The facts that later steps need: details of the supplier in work only, verdicts until there is a quote, quotes until they are
 * read, rates always.
 */
export function neededFacts(facts: readonly FoundFact[], position: Position): readonly FoundFact[] {
  const keys = new Set(facts.map(({ fact }) => factKey(fact)));
  const current = Math.floor(position.read / 5) + 1;
  return facts.filter(({ fact }) => {
    if (fact.kind === "rejected") return false;
    if (DETAILS.includes(fact.kind)) {
      return "id" in fact && ordinal(fact.id) >= current && !keys.has(`verdict ${fact.id}`);
    }
    if (fact.kind === "verdict") return !keys.has(`quote ${fact.id}`) && !keys.has(`total ${fact.id}`);
    if (fact.kind === "quote") return !keys.has(`total ${fact.id}`);
    return true;
  });
}

import { type ScriptRequest, wireText } from "@longhaul/test-kit";
import { type Fact, type FoundFact, factKey, findFacts, SOURCE_OF } from "./facts.ts";
import { neededFacts } from "./keep-memory.ts";
import { findPositions, furthest, progressNote, START } from "./progress.ts";

const MAX_OUTPUTS = 20;

/** A request for a summary: its form is asked for by field names, and there are no tools to act with. */
export function isSummaryRequest({ messages, tools }: ScriptRequest): boolean {
  if (tools.length > 0) return false;
  const text = messages.map(wireText).join("\n");
  return /"outputs"\s*:/.test(text) && /"problems"\s*:/.test(text);
}

/**
 * The brain as summariser: fills the form from the transcript in the request, with sentences copied character by character.
 * What is not in the transcript cannot be in the summary.
 */
export function summarise({ messages }: ScriptRequest): string {
  const text = transcriptIn(
    messages
      .filter(({ role }) => role !== "system")
      .map(wireText)
      .join("\n"),
  );
  const latest = new Map<string, FoundFact>();
  for (const found of findFacts(text)) latest.set(factKey(found.fact), found);
  const position = findPositions(text).reduce(furthest, START);
  const rejected = [...latest.values()].flatMap(({ fact }) => (fact.kind === "rejected" ? [fact.id] : []));
  const outputs = neededFacts([...latest.values()], position).slice(-MAX_OUTPUTS);
  return JSON.stringify({
    done: `Read and judged suppliers. ${progressNote(position)}`,
    outputs: outputs.map(({ fact, text: value }) => ({
      kind: kindOf(fact),
      value,
      source: sourceOf(fact),
    })),
    problems: [],
    effect:
      rejected.length > 0
        ? `No need to look again at ${rejected.join(", ")}.`
        : "The work goes on as planned.",
    open: [],
  });
}

/** What stands around the transcript is on record already. */
function transcriptIn(text: string): string {
  return /<longhaul-transcript[^>]*>([\s\S]*)<\/longhaul-transcript>/.exec(text)?.[1] ?? text;
}

/** A verdict is the assistant's own conclusion. */
function sourceOf({ kind }: Fact): string {
  return kind === "verdict" ? "assistant" : SOURCE_OF[kind];
}

function kindOf({ kind }: Fact): "data" | "id" | "conclusion" {
  if (kind === "verdict" || kind === "total") return "conclusion";
  return kind === "quote" || kind === "sample" || kind === "mail" ? "id" : "data";
}

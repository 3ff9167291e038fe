import { digest } from "../json/canonical-json.ts";
import { fitSummary, rankOutputs, type SummaryLimits } from "./fit-summary.ts";
import { type KeyOutput, renderSummary, type StepSummary } from "./step-summary.ts";
import { countWords, cutWords } from "./text-size.ts";

/** How many summaries of one tier become one of the next. */
const TIER_SIZE = 5;

/** A merge and what it left out; the caller stores the full text and puts its reference into the list. */
export interface TierMerge {
  readonly summary: StepSummary;
  readonly dropped: readonly KeyOutput[];
  /** The merged summaries in full. */
  readonly text: string;
}

/**
 * Merges the oldest five summaries of the lowest full tier into one of the next, or resolves to undefined when no tier has
 * five. Called until undefined, it leaves at most four of each tier: memory grows with the logarithm of the steps.
 */
export function mergeOnce(
  summaries: readonly StepSummary[],
  limits: SummaryLimits,
):
  | {
      readonly before: readonly StepSummary[];
      readonly merge: TierMerge;
      readonly after: readonly StepSummary[];
    }
  | undefined {
  for (const tier of [...new Set(summaries.map((summary) => summary.tier))].sort((a, b) => a - b)) {
    const from = summaries.findIndex((summary) => summary.tier === tier);
    const members = summaries.slice(from, from + TIER_SIZE);
    if (members.length < TIER_SIZE || members.some((member) => member.tier !== tier)) continue;
    return {
      before: summaries.slice(0, from),
      merge: mergeSummaries(members, limits, tier + 1),
      after: summaries.slice(from + TIER_SIZE),
    };
  }
  return undefined;
}

/**
 * One summary of several, by code: outputs united, without doubles, ranked with a fair part for each member, so that a noisy
 * one does not push the others out; prose in order, cut to the limits. Deterministic: the same members give the same bytes.
 *
 * @param tier of the result; the members' own for parts of one range.
 */
export function mergeSummaries(
  members: readonly StepSummary[],
  limits: SummaryLimits,
  tier: number,
): TierMerge {
  const first = members[0] as StepSummary;
  const last = members.at(-1) as StepSummary;
  const { kept, dropped } = uniteOutputs(members, limits.maxOutputs);
  const fitted = fitSummary(
    {
      v: 1,
      tier,
      fromStep: Math.min(...members.map((member) => member.fromStep)),
      toStep: Math.max(...members.map((member) => member.toStep)),
      done: fairProse(
        members.map((member) => member.done),
        Math.floor(limits.maxWords * 0.25),
      ),
      outputs: kept,
      problems: unique(members.flatMap((member) => member.problems)),
      // Later effects override earlier ones, so the last that says something stands.
      effect: members.findLast((member) => member.effect !== "")?.effect ?? "",
      open: unique(members.flatMap((member) => member.open)),
      by: "merge",
      digest: digest(members.map((member) => member.digest)),
      ...(first === last && first.ref !== undefined ? { ref: first.ref } : {}),
    },
    limits,
  );
  return {
    summary: fitted.summary,
    dropped: [...dropped, ...fitted.dropped],
    text: members.map(renderSummary).join("\n\n"),
  };
}

/** Each output once: under its newest source, counted as more needed when several members hold it. */
function uniteOutputs(
  members: readonly StepSummary[],
  maxOutputs: number,
): { readonly kept: KeyOutput[]; readonly dropped: KeyOutput[] } {
  const newest = new Map<string, { output: KeyOutput; count: number }>();
  for (const { outputs } of members) {
    for (const output of outputs) {
      const earlier = newest.get(output.value);
      newest.set(output.value, { output, count: (earlier?.count ?? 0) + 1 });
    }
  }
  const seen = new Set<string>();
  const repeated: KeyOutput[] = [];
  const queues = members.map(({ outputs }) =>
    rankOutputs(outputs.map(({ value }) => (newest.get(value) as { output: KeyOutput }).output)).filter(
      (output) => {
        if (seen.has(output.value)) return false;
        seen.add(output.value);
        if ((newest.get(output.value)?.count ?? 0) < 2) return true;
        repeated.push(output);
        return false;
      },
    ),
  );
  const order = [...repeated];
  for (let i = 0; queues.some((queue) => i < queue.length); i++) {
    for (const queue of queues) if (i < queue.length) order.push(queue[i] as KeyOutput);
  }
  const chosen = new Set(order.slice(0, maxOutputs));
  const inOrder = [...newest.values()].map(({ output }) => output);
  return { kept: inOrder.filter((output) => chosen.has(output)), dropped: order.slice(maxOutputs) };
}

/** Texts one after another; when they are too long together, each is cut to its part. */
function fairProse(texts: readonly string[], maxWords: number): string {
  const said = unique(texts.filter((text) => text !== ""));
  const joined = said.join(" ");
  if (countWords(joined) <= maxWords) return joined;
  return said.map((text) => cutWords(text, Math.floor(maxWords / said.length))).join(" ");
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

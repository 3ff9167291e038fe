import { type KeyOutput, renderSummary, type StepSummary } from "./step-summary.ts";
import { countWords, cutWords } from "./text-size.ts";

export interface SummaryLimits {
  readonly maxWords: number;
  readonly maxOutputs: number;
}

export interface FittedSummary {
  readonly summary: StepSummary;
  /** Outputs that did not fit. */
  readonly dropped: readonly KeyOutput[];
  /** Whether any text was shortened or left out. */
  readonly cut: boolean;
}

/** What must go goes in this order: narration, problems, outputs of lower rank, and only then open questions. */
const SHARE = { done: 0.2, effect: 0.1, problems: 0.15, open: 0.25 } as const;

/**
 * Brings a summary within its limits, its rendered text counted as a whole. Decisions, outputs and open questions outlive
 * narration. Values are kept whole or dropped, never shortened. Deterministic. Cost: linear in the summary's size times
 * the number of dropped outputs.
 */
export function fitSummary(summary: StepSummary, limits: SummaryLimits): FittedSummary {
  const ranked = rankOutputs(summary.outputs);
  const dropped = ranked.slice(limits.maxOutputs);
  let fitted: StepSummary = {
    ...summary,
    outputs: inOrder(summary.outputs, ranked.slice(0, limits.maxOutputs)),
  };
  const fits = (): boolean => countWords(renderSummary(fitted)) <= limits.maxWords;
  const share = (name: keyof typeof SHARE): number => Math.floor(limits.maxWords * SHARE[name]);
  if (fits()) return { summary: fitted, dropped, cut: dropped.length > 0 };

  fitted = { ...fitted, done: cutWords(fitted.done, share("done")) };
  if (!fits()) fitted = { ...fitted, effect: cutWords(fitted.effect, share("effect")) };
  if (!fits()) fitted = { ...fitted, problems: cutList(fitted.problems, share("problems")) };
  const keep = rankOutputs(fitted.outputs);
  const drop = (enough: () => boolean): void => {
    while (keep.length > 0 && !enough()) {
      dropped.push(keep.pop() as KeyOutput);
      fitted = { ...fitted, outputs: inOrder(fitted.outputs, keep) };
    }
  };
  // A third of the room belongs to outputs, whatever else there is to say.
  drop(() => fits() || outputWords(keep) <= limits.maxWords / 3);
  if (!fits()) fitted = { ...fitted, open: cutList(fitted.open, share("open")) };
  drop(fits);
  return { summary: fitted, dropped, cut: true };
}

function outputWords(outputs: readonly KeyOutput[]): number {
  return outputs.reduce((sum, { value, source }) => sum + countWords(value) + countWords(source) + 2, 0);
}

/** Newest items first until the room is used, in their old order. */
function cutList(items: readonly string[], maxWords: number): string[] {
  const kept: string[] = [];
  let left = maxWords;
  for (const item of items.toReversed()) {
    const text = cutWords(item, Math.min(left - 1, Math.ceil(maxWords / 2)));
    if (text === "") break;
    kept.unshift(text);
    left -= countWords(text) + 1;
  }
  return kept;
}

/** Most needed first: the user's own, then conclusions and decisions, then the rest; the newer first among equals. */
export function rankOutputs(outputs: readonly KeyOutput[]): KeyOutput[] {
  return outputs
    .map((output, i) => ({ output, i, weight: weightOf(output) }))
    .sort((a, b) => b.weight - a.weight || b.i - a.i)
    .map(({ output }) => output);
}

function weightOf({ kind, source, value }: KeyOutput): number {
  if (source === "user") return 3;
  // A detail of a record (`flights: origin=JFK, …`) is of less use than what names the record.
  if (kind === "data" && /^[\w .-]{1,60}: [\w.-]{1,40}=/.test(value)) return 0;
  // What the assistant said on the way is often only talk.
  return kind === "conclusion" && !source.startsWith("assistant") ? 2 : 1;
}

function inOrder(all: readonly KeyOutput[], kept: readonly KeyOutput[]): KeyOutput[] {
  const chosen = new Set(kept);
  return all.filter((output) => chosen.has(output));
}

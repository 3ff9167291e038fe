import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Deps } from "../clock.ts";
import type { MemoryState } from "../context/memory-state.ts";
import type { Emit } from "../events/event.ts";
import type { MessageGroup } from "../messages/groups.ts";
import type { ArtifactStore } from "../storage/artifact-store.ts";
import { effectsDone } from "./effects-done.ts";
import { keepOriginals } from "./keep-originals.ts";
import { selectIdentifiers } from "./select-identifiers.ts";
import { readSource } from "./source-text.ts";
import { renderSummary, type StepSummary } from "./step-summary.ts";
import { archiveSummary } from "./stored-summary.ts";
import { type RangeOutcome, REF_WORDS, summarizeRange } from "./summarize-range.ts";
import type { SummaryFailure } from "./summary-events.ts";
import {
  type ResolvedSummaryOptions,
  resolveSummaryOptions,
  type SummaryOptions,
} from "./summary-options.ts";
import { mergeOnce } from "./tiers.ts";

export interface SummarizeInput {
  readonly thread: string;
  /** What is folded: whole groups, in order. */
  readonly groups: readonly MessageGroup[];
  /** The user's goal, verbatim; gives the language, and identifiers that a summary may use. */
  readonly goal: string;
  /** The summaries so far, oldest first. */
  readonly previous: readonly StepSummary[];
  /** Identifiers that are in the index already. */
  readonly knownIdentifiers: readonly string[];
  readonly artifacts: MemoryState["artifacts"];
}

export type SummarizeOutcome =
  | {
      readonly ok: true;
      /** The whole new list, tiers merged. */
      readonly summaries: readonly StepSummary[];
      /** To add to the index, oldest first. */
      readonly identifiers: MemoryState["identifiers"];
      /** To add. */
      readonly effectsDone: MemoryState["effectsDone"];
      /** To add: pasted material, pictures and archived summaries that were stored on the way. */
      readonly artifacts: MemoryState["artifacts"];
      /** Every new summary was found in the store: no model call. */
      readonly reused: boolean;
    }
  | { readonly ok: false; readonly reason: SummaryFailure; readonly message: string };

export interface SummarizeDeps {
  readonly artifacts: ArtifactStore;
  /** Without it the extractive summariser works: offline, deterministic, free. */
  readonly summarizer?: BaseChatModel | undefined;
  /** The only callbacks that see the summariser's calls: the meter. */
  readonly callbacks?: Callbacks | undefined;
  readonly emit: Emit;
  readonly deps: Deps;
  readonly signal?: AbortSignal | undefined;
}

/** So many ranges are summarised at a time: a fold of 40 steps should not wait for eight answers in a row. */
const CONCURRENCY = 3;

/**
 * Summarises groups that leave the view: in tier-1 summaries of `every` steps, each audited by code and saved under the digest of
 * its groups before this resolves, so that a crash before the next checkpoint costs no second call; then merges full tiers.
 *
 * Changes nothing but the artifact store. Any failure of the summariser is a typed outcome and leaves memory as it was; what
 * was made of other ranges stays saved. Groups without any agent step make no summary and no call. Throws only on cancellation and graph
 * bubble-ups. Cost: linear in the groups' text, plus one model call for each new range (and chunk).
 */
export async function summarizeGroups(
  input: SummarizeInput,
  options: SummaryOptions | ResolvedSummaryOptions,
  deps: SummarizeDeps,
): Promise<SummarizeOutcome> {
  const resolved = resolveSummaryOptions(options);
  const { thread, groups } = input;
  const artifacts = await keepOriginals(thread, groups, input.artifacts, deps.artifacts, deps.emit);
  const withOriginals = { ...input, artifacts: { ...input.artifacts, ...artifacts } };
  const ranges = splitRanges(groups, resolved.every);
  const made: (RangeOutcome & { ok: true })[] = [];
  for (let i = 0; i < ranges.length; i += CONCURRENCY) {
    const batch = ranges.slice(i, i + CONCURRENCY);
    const outcomes = await Promise.all(
      batch.map((range) => summarizeRange(range, withOriginals, resolved, deps)),
    );
    for (const outcome of outcomes) {
      if (!outcome.ok) return outcome;
      made.push(outcome);
    }
  }
  const steps = made.map(({ summary }) => summary);
  const summaries =
    steps.length > 0
      ? await mergeTiers([...input.previous, ...steps], thread, resolved, deps)
      : input.previous;
  const index = selectIdentifiers(
    readSource(groups, resolved.isEffect).identifiers,
    // As the model will read them: what a merge has left out is kept by the index.
    summaries.map(renderSummary).join("\n"),
    input.knownIdentifiers,
    resolved.maxIdentifiers,
  );
  const [first] = steps;
  if (first) {
    const toStep = steps.at(-1)?.toStep ?? first.toStep;
    const { entries, left } = index;
    deps.emit({ type: "summary.indexed", fromStep: first.fromStep, toStep, indexed: entries.length, left });
  }
  return {
    ok: true,
    summaries,
    identifiers: index.entries,
    effectsDone: effectsDone(groups, resolved.isEffect),
    artifacts,
    reused: made.every(({ reused }) => reused),
  };
}

/**
 * Groups in ranges of `every` agent steps, in order; messages between steps go with the step after them, a short rest joins
 * the last range. No range without an agent step.
 */
export function splitRanges(groups: readonly MessageGroup[], every: number): MessageGroup[][] {
  const ranges: { groups: MessageGroup[]; steps: number }[] = [];
  let between: MessageGroup[] = [];
  for (const group of groups) {
    if (group.kind !== "step") {
      between.push(group);
      continue;
    }
    let range = ranges.at(-1);
    if (!range || range.steps === every) {
      range = { groups: [], steps: 0 };
      ranges.push(range);
    }
    range.groups.push(...between, group);
    range.steps++;
    between = [];
  }
  const last = ranges.at(-1);
  if (!last) return [];
  last.groups.push(...between);
  const before = ranges.at(-2);
  if (before && last.steps < every / 2) {
    before.groups.push(...last.groups);
    ranges.pop();
  }
  return ranges.map((range) => range.groups);
}

/** Merges until no tier is full; the merged ones are stored in full first, and the merge names where. */
async function mergeTiers(
  summaries: readonly StepSummary[],
  thread: string,
  options: ResolvedSummaryOptions,
  deps: SummarizeDeps,
): Promise<readonly StepSummary[]> {
  const limits = { maxWords: options.maxWords - REF_WORDS, maxOutputs: options.maxOutputs };
  let list = summaries;
  for (let next = mergeOnce(list, limits); next; next = mergeOnce(list, limits)) {
    const { summary, dropped, text } = next.merge;
    const ref = await archiveSummary(thread, text, summary, deps);
    const { fromStep, toStep, tier } = summary;
    deps.emit({
      type: "summary.merged",
      fromStep,
      toStep,
      tier,
      dropped: dropped.length,
      ...(ref ? { ref } : {}),
    });
    list = [...next.before, ref === undefined ? summary : { ...summary, ref }, ...next.after];
  }
  return list;
}

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { artifactRef } from "../artifacts/artifact-ref.ts";
import { offloadText } from "../artifacts/offload.ts";
import { digest } from "../json/canonical-json.ts";
import type { MessageGroup } from "../messages/groups.ts";
import { type AuditOptions, auditSummary, type SummaryAudit } from "./audit-summary.ts";
import { summariseExtractively, unansweredQuestion } from "./extractive-summarizer.ts";
import { fitSummary } from "./fit-summary.ts";
import { digestGroups } from "./group-digest.ts";
import { readGroup } from "./group-facts.ts";
import { summarizeWithModel } from "./model-summarizer.ts";
import type { SummaryDraft } from "./parse-summary.ts";
import { type KeyOutput, readSummary, renderSummary, type StepSummary } from "./step-summary.ts";
import type { SummarizeDeps, SummarizeInput } from "./summarize-groups.ts";
import type { SummaryFailure } from "./summary-events.ts";
import type { ResolvedSummaryOptions } from "./summary-options.ts";
import { cutLine, cutWords } from "./text-size.ts";
import { mergeSummaries } from "./tiers.ts";
import { transcriptEntries } from "./transcript.ts";

export type RangeOutcome =
  | {
      readonly ok: true;
      readonly summary: StepSummary;
      readonly reused: boolean;
    }
  | { readonly ok: false; readonly reason: SummaryFailure; readonly message: string };

/** Words that the line with the reference takes. */
export const REF_WORDS = 6;

/** The tier-1 summary of one range: found under the digest of its groups, or made, audited and saved under it. */
export async function summarizeRange(
  groups: readonly MessageGroup[],
  input: SummarizeInput,
  options: ResolvedSummaryOptions,
  deps: SummarizeDeps,
): Promise<RangeOutcome> {
  const name = nameOf(groups, options, deps.summarizer !== undefined);
  const found = await findSummary(input.thread, name, deps);
  if (found) {
    report(found, true, 0, deps);
    return { ok: true, summary: found, reused: true };
  }
  const made = deps.summarizer
    ? await makeByModel(groups, input, options, { ...deps, summarizer: deps.summarizer })
    : // Taken from the groups word for word, so there is nothing to audit; being short is no sign of a failure.
      { ok: true as const, summary: summariseExtractively(groups, options), calls: 0 };
  if (!made.ok) return made;
  const kept = await keepDropped(made.summary, input.thread, options, deps);
  await saveSummary(input.thread, name, kept, deps);
  report(kept, false, made.calls, deps);
  return { ok: true, summary: kept, reused: false };
}

/**
 * Name under which a summary is saved: what it replaces, and what shapes it. The goal and earlier summaries are only context,
 * so they are not part of it.
 */
function nameOf(groups: readonly MessageGroup[], options: ResolvedSummaryOptions, model: boolean): string {
  const { maxWords, maxOutputs, prompts } = options;
  return artifactRef(
    digest({
      v: 1,
      groups: digestGroups(groups),
      maxWords,
      maxOutputs,
      ...(model ? { prompts } : { by: "extractive" }),
    }),
  );
}

type Made =
  | { readonly ok: true; readonly summary: StepSummary; readonly calls: number }
  | { readonly ok: false; readonly reason: SummaryFailure; readonly message: string };

async function makeByModel(
  groups: readonly MessageGroup[],
  input: SummarizeInput,
  options: ResolvedSummaryOptions,
  deps: SummarizeDeps & { readonly summarizer: BaseChatModel },
): Promise<Made> {
  const extract = summariseExtractively(groups, options);
  const auditOptions: AuditOptions = {
    alsoKnown: [input.goal, ...input.previous.map(renderSummary)],
    instructions: `${options.prompts.system}\n${options.prompts.schema}`,
  };
  let audit: SummaryAudit | undefined;
  const { fromStep, toStep } = extract;
  const outcome = await summarizeWithModel(
    {
      fromStep,
      toStep,
      entries: transcriptEntries(groups, { resultChars: options.resultChars, artifacts: input.artifacts }),
      goal: input.goal,
      before: cutLine(input.previous.slice(-2).map(renderSummary).join(" "), 1_500),
    },
    options,
    {
      summarizer: deps.summarizer,
      callbacks: deps.callbacks,
      clock: deps.deps.clock,
      signal: deps.signal,
      refuse: (drafts) => {
        const draft = fromDrafts(drafts, extract, groups);
        audit = auditSummary(draft, groups, auditOptions);
        if (audit.refused === undefined) {
          // A model that names no output at all has not been careful; code names them.
          const outputs = draft.outputs.length > 0 ? draft.outputs : extract.outputs;
          if (outputs !== draft.outputs) audit = auditSummary({ ...draft, outputs }, groups, auditOptions);
          return undefined;
        }
        const message =
          audit.refused === "collapsed"
            ? "it says next to nothing of what it replaces"
            : "it is longer than what it replaces";
        return { reason: audit.refused, message };
      },
    },
  );
  if (!outcome.ok) {
    const { reason, message, calls } = outcome;
    deps.emit({ type: "summary.refused", fromStep, toStep, reason, message, calls });
    return { ok: false, reason, message };
  }
  const { summary, struck, repaired } = audit as unknown as SummaryAudit;
  if (struck.length + repaired.length > 0) {
    deps.emit({ type: "summary.audited", fromStep, toStep, struck, repaired });
  }
  return { ok: true, summary, calls: outcome.calls };
}

/** Narration of a draft in words: the template asks for a sentence or two, what is beyond is cut before anything is judged. */
const NARRATION = { done: 100, effect: 50, item: 40 } as const;

/** The model's drafts (one a chunk) in the template; code fills what an answer in prose left empty. */
function fromDrafts(
  drafts: readonly SummaryDraft[],
  extract: StepSummary,
  groups: readonly MessageGroup[],
): StepSummary {
  const parts = drafts.map(
    ({ structured: _, ...draft }): StepSummary => ({
      ...extract,
      ...draft,
      by: "model",
      done: cutWords(draft.done, NARRATION.done),
      effect: cutWords(draft.effect, NARRATION.effect),
      problems: draft.problems.map((text) => cutWords(text, NARRATION.item)),
      open: draft.open.map((text) => cutWords(text, NARRATION.item)),
    }),
  );
  // The limits are for later: the audit must see all outputs that the model named.
  const wide = { maxWords: Number.MAX_SAFE_INTEGER, maxOutputs: Number.MAX_SAFE_INTEGER };
  const [only] = parts;
  const merged = parts.length === 1 && only ? only : mergeSummaries(parts, wide, 1).summary;
  const prose = drafts.every((draft) => !draft.structured);
  return {
    ...merged,
    by: "model",
    digest: extract.digest,
    outputs: prose ? unite(merged.outputs, extract.outputs) : merged.outputs,
    problems: prose && merged.problems.length === 0 ? extract.problems : merged.problems,
    open: [...new Set([...merged.open, ...unansweredQuestion(groups.map(readGroup))])],
  };
}

function unite(first: readonly KeyOutput[], second: readonly KeyOutput[]): KeyOutput[] {
  const seen = new Set(first.map(({ value }) => value));
  return [...first, ...second.filter(({ value }) => !seen.has(value))];
}

/** Within the limits; what does not fit is stored under a reference that the summary names. */
async function keepDropped(
  summary: StepSummary,
  thread: string,
  options: ResolvedSummaryOptions,
  deps: SummarizeDeps,
): Promise<StepSummary> {
  const fitted = fitSummary(summary, options);
  if (!fitted.cut) return fitted.summary;
  const tight = fitSummary(summary, { ...options, maxWords: options.maxWords - REF_WORDS }).summary;
  const ref = await archive(thread, renderSummary(summary), summary, deps);
  return ref === undefined ? fitted.summary : { ...tight, ref };
}

/** Stores the full text of a summary that is shortened or merged; undefined (and reported) when the store does not take it. */
export async function archive(
  thread: string,
  text: string,
  { fromStep, toStep }: { readonly fromStep: number; readonly toStep: number },
  deps: Pick<SummarizeDeps, "artifacts" | "emit">,
): Promise<string | undefined> {
  const meta = { kind: "summary-text", label: `summaries of steps ${fromStep}–${toStep} in full` };
  const stored = await offloadText(thread, text, meta, deps.artifacts);
  if (!("lost" in stored)) return stored.ref;
  deps.emit({ type: "artifact.lost", ...meta, chars: text.length, reason: stored.reason });
  return undefined;
}

async function findSummary(
  thread: string,
  name: string,
  deps: SummarizeDeps,
): Promise<StepSummary | undefined> {
  try {
    const artifact = await deps.artifacts.get(thread, name);
    return artifact && readSummary(JSON.parse(artifact.content));
  } catch (error) {
    // A saved summary only spares a call. A damaged one is reported and made again; it can be, its groups are at hand.
    const reason = error instanceof Error ? error.message : String(error);
    deps.emit({
      type: "artifact.lost",
      kind: "summary",
      label: "a saved summary",
      chars: 0,
      reason: cutLine(reason, 200),
    });
    return undefined;
  }
}

async function saveSummary(
  thread: string,
  name: string,
  summary: StepSummary,
  deps: SummarizeDeps,
): Promise<void> {
  const content = JSON.stringify(summary);
  const meta = {
    kind: "summary",
    label: `summary of steps ${summary.fromStep}–${summary.toStep}`,
    mediaType: "application/json",
  };
  const stored = await offloadText(thread, content, meta, deps.artifacts, name);
  if ("lost" in stored) {
    deps.emit({
      type: "artifact.lost",
      kind: meta.kind,
      label: meta.label,
      chars: content.length,
      reason: stored.reason,
    });
  }
}

function report(summary: StepSummary, reused: boolean, calls: number, deps: SummarizeDeps): void {
  const { fromStep, toStep } = summary;
  const by = summary.by === "model" ? "model" : "extractive";
  deps.emit({ type: "summary.made", fromStep, toStep, by, reused, calls });
}

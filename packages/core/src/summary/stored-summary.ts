import { artifactRef } from "../artifacts/artifact-ref.ts";
import { offloadText } from "../artifacts/offload.ts";
import { digest } from "../json/canonical-json.ts";
import type { MessageGroup } from "../messages/groups.ts";
import { digestGroups } from "./group-digest.ts";
import { readSummary, type StepSummary } from "./step-summary.ts";
import type { SummarizeDeps } from "./summarize-groups.ts";
import type { ResolvedSummaryOptions } from "./summary-options.ts";
import { cutLine } from "./text-size.ts";

/**
 * Name under which a summary is saved: what it replaces, and what shapes it. The goal and earlier summaries are only context,
 * so they are not part of it.
 */
export function summaryName(
  groups: readonly MessageGroup[],
  options: ResolvedSummaryOptions,
  model: boolean,
): string {
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

/** Stores the full text of a summary that is shortened or merged; undefined (and reported) when the store does not take it. */
export async function archiveSummary(
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

/** The summary saved under a name, or undefined. */
export async function findSummary(
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

/** Saves a summary under its name; a store that does not take it only costs a second call after a crash. */
export async function saveSummary(
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

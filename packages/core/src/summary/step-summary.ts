import { StateFormatError } from "../errors.ts";

export const OUTPUT_KINDS = ["data", "path", "id", "url", "conclusion"] as const;

/** One output that later steps may need. `value` is exact, character for character. */
export interface KeyOutput {
  readonly kind: (typeof OUTPUT_KINDS)[number];
  readonly value: string;
  /** Tool name and step that it came from, or `user`. */
  readonly source: string;
}

/** A structured summary of a range of agent steps: the template of the rolling summary. */
export interface StepSummary {
  readonly v: 1;
  /** 1: made from groups; n: made from five of tier n-1. */
  readonly tier: number;
  readonly fromStep: number;
  readonly toStep: number;
  /** What was done, in one or two sentences. */
  readonly done: string;
  readonly outputs: readonly KeyOutput[];
  readonly problems: readonly string[];
  readonly effect: string;
  readonly open: readonly string[];
  /** Who wrote it. */
  readonly by: "model" | "extractive" | "merge";
  /** Digest of what it replaces. */
  readonly digest: string;
  /** Reference under which the full summary or dropped outputs can be recalled. */
  readonly ref?: string | undefined;
}

/**
 * The text of a summary as the model sees it. Same summary, same bytes. The caller fences it.
 */
export function renderSummary(summary: StepSummary): string {
  const lines = [`Steps ${summary.fromStep}–${summary.toStep} (tier ${summary.tier})`];
  if (summary.done) lines.push(`Done: ${summary.done}`);
  if (summary.outputs.length > 0) {
    lines.push("Outputs:");
    for (const { kind, value, source } of summary.outputs) {
      lines.push(`- [${kind}] ${value}${source ? ` (${source})` : ""}`);
    }
  }
  if (summary.problems.length > 0) lines.push("Problems:", ...summary.problems.map((text) => `- ${text}`));
  if (summary.effect) lines.push(`Effect: ${summary.effect}`);
  if (summary.open.length > 0) lines.push("Open:", ...summary.open.map((text) => `- ${text}`));
  if (summary.ref) lines.push(`In full: recall({"ref":"${summary.ref}"})`);
  return lines.join("\n");
}

/**
 * Validates a stored summary.
 *
 * @throws StateFormatError when it is damaged or written by a newer version.
 */
export function readSummary(value: unknown): StepSummary {
  const fail = (found: unknown, expected: string): never => {
    throw new StateFormatError({ channel: "_longhaulMemory", found, expected });
  };
  if (typeof value !== "object" || value === null || Array.isArray(value)) return fail(value, "a summary");
  const summary = value as Record<string, unknown>;
  if (summary.v !== 1) fail(summary.v, "a summary of version 1");
  for (const name of ["tier", "fromStep", "toStep"]) {
    if (!Number.isInteger(summary[name])) fail(summary[name], `an integer in \`${name}\` of a summary`);
  }
  for (const name of ["done", "effect", "digest"]) {
    if (typeof summary[name] !== "string") fail(summary[name], `a text in \`${name}\` of a summary`);
  }
  for (const name of ["problems", "open"]) {
    const list = summary[name];
    if (!Array.isArray(list) || list.some((item) => typeof item !== "string")) {
      fail(list, `a list of texts in \`${name}\` of a summary`);
    }
  }
  if (!Array.isArray(summary.outputs) || !summary.outputs.every(isOutput)) {
    fail(summary.outputs, "a list of outputs (kind, value, source) in a summary");
  }
  if (!["model", "extractive", "merge"].includes(summary.by as string)) {
    fail(summary.by, "`model`, `extractive` or `merge` in `by` of a summary");
  }
  if (summary.ref !== undefined && typeof summary.ref !== "string") {
    fail(summary.ref, "a text in `ref` of a summary");
  }
  return value as StepSummary;
}

function isOutput(value: unknown): value is KeyOutput {
  if (typeof value !== "object" || value === null) return false;
  const output = value as Record<string, unknown>;
  return (
    (OUTPUT_KINDS as readonly unknown[]).includes(output.kind) &&
    typeof output.value === "string" &&
    typeof output.source === "string"
  );
}

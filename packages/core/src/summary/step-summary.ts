/** One output that later steps may need. `value` is exact, character for character. */
export interface KeyOutput {
  readonly kind: "data" | "path" | "id" | "url" | "conclusion";
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

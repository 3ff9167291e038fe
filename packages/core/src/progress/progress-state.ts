export interface ProgressFact {
  readonly text: string;
  readonly source: string;
}

/** What the checkpoint tool saved, after the rules of `normaliseProgress`. */
export interface ProgressCheckpoint {
  readonly goal: string;
  readonly facts: readonly ProgressFact[];
  readonly done: readonly string[];
  readonly todo: readonly string[];
  readonly open: readonly string[];
}

/** Channel `_longhaulProgress`. */
export interface ProgressState {
  readonly v: 1;
  readonly latest?: (ProgressCheckpoint & { readonly key: string; readonly step: number }) | undefined;
  /** All `done` items ever saved (digests), so that cutting the text does not lower the count. */
  readonly doneDigests: readonly string[];
  readonly doneAtLastReset: number;
  /** Element key of the checkpoint that the last reset used; a new reset needs a newer one. */
  readonly lastResetCheckpoint?: string | undefined;
  /** Element key of a granted reset; the context concern applies it once (see `MemoryState.appliedResets`). */
  readonly reset?: { readonly key: string; readonly assistantId: string; readonly step: number } | undefined;
  readonly resets: number;
  /** Checkpoints in a row without anything new. */
  readonly idle: number;
  /** Steps at which the model was asked to checkpoint and reset, in the current working layer. */
  readonly asked?: { readonly atStep: number; readonly times: number } | undefined;
}

/** Reducer of `_longhaulProgress`. Contract placeholder, replaced by the progress concern: parallel checkpoint and reset merge. */
export function mergeProgress(
  current: ProgressState | undefined,
  next: ProgressState | undefined,
): ProgressState | undefined {
  return next ?? current;
}

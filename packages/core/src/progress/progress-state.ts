import { z } from "zod/v4";
import { StateFormatError } from "../errors.ts";
import { canonicalJson } from "../json/canonical-json.ts";

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

/** Where a call stands: agent step, then position among the calls of its assistant message, from 0. */
export interface CallStamp {
  readonly step: number;
  readonly order: number;
}

/** Channel `_longhaulProgress`. */
export interface ProgressState {
  readonly v: 1;
  /** Newest saved checkpoint; `key` is the element key of its call. */
  readonly latest?: (ProgressCheckpoint & CallStamp & { readonly key: string }) | undefined;
  /** Digests of all `done` items ever saved, sorted, so that cutting the text does not lower the count. */
  readonly doneDigests: readonly string[];
  readonly doneAtLastReset: number;
  /** Element key of the checkpoint that the last reset used; a new reset needs a newer one. */
  readonly lastResetCheckpoint?: string | undefined;
  /** Element key of a granted reset; the context concern applies it once (see `MemoryState.appliedResets`). */
  readonly reset?: { readonly key: string; readonly assistantId: string; readonly step: number } | undefined;
  readonly resets: number;
  /** Checkpoints in a row without anything new. */
  readonly idle: number;
  /** The last checkpoint call that was judged, saved or not. */
  readonly judged?: (CallStamp & { readonly assistantId: string }) | undefined;
  /** How often the model was asked to checkpoint and reset in the current working layer, and the step of the last time. */
  readonly asked?: { readonly atStep: number; readonly times: number } | undefined;
}

/** State of a thread that has no checkpoint yet. */
export function progressState(): ProgressState {
  return { v: 1, doneDigests: [], doneAtLastReset: 0, resets: 0, idle: 0 };
}

const text = z.string();
const count = z.number().int().min(0);
const stamp = { step: count, order: count };
const format = z.object({
  v: z.literal(1),
  latest: z
    .object({
      goal: text,
      facts: z.array(z.object({ text, source: text })),
      done: z.array(text),
      todo: z.array(text),
      open: z.array(text),
      key: text,
      ...stamp,
    })
    .optional(),
  doneDigests: z.array(text),
  doneAtLastReset: count,
  lastResetCheckpoint: text.optional(),
  reset: z.object({ key: text, assistantId: text, step: count }).optional(),
  resets: count,
  idle: count,
  judged: z.object({ assistantId: text, ...stamp }).optional(),
  asked: z.object({ atStep: count, times: count }).optional(),
});

/**
 * The channel's value, checked; a thread without one starts empty.
 * @throws StateFormatError when it is damaged or of a newer version.
 */
export function readProgress(value: unknown): ProgressState {
  if (value === undefined || value === null) return progressState();
  const parsed = format.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new StateFormatError({
    channel: "_longhaulProgress",
    found: value,
    expected: "progress state of version 1",
    cause: parsed.error,
  });
}

/**
 * Reducer of `_longhaulProgress`. Parallel calls of one step each write the state as they compute it from the same start,
 * so every field takes the larger of two values in a total order: the result depends neither on the order of the updates
 * nor on how often one is applied.
 */
export function mergeProgress(
  current: ProgressState | undefined,
  next: ProgressState | undefined,
): ProgressState | undefined {
  if (!current || !next) return next ?? current;
  const latest = larger(current.latest, next.latest, (it) => [it.step, it.order, it.key]);
  const reset = larger(resetPart(current), resetPart(next), (it) => [it.resets, it.reset?.step ?? 0]);
  const judged = larger(judgedPart(current), judgedPart(next), (it) => [
    it.judged?.step ?? -1,
    it.judged?.order ?? -1,
    it.idle,
  ]);
  const asked = larger(current.asked, next.asked, (it) => [it.atStep, it.times]);
  return {
    v: 1,
    ...(latest && { latest }),
    doneDigests: [...new Set([...current.doneDigests, ...next.doneDigests])].sort(),
    ...(reset as ReturnType<typeof resetPart>),
    ...(judged as ReturnType<typeof judgedPart>),
    ...(asked && { asked }),
  };
}

function resetPart({ resets, reset, doneAtLastReset, lastResetCheckpoint }: ProgressState) {
  return {
    resets,
    doneAtLastReset,
    ...(reset && { reset }),
    ...(lastResetCheckpoint !== undefined && { lastResetCheckpoint }),
  };
}

function judgedPart({ idle, judged }: ProgressState) {
  return { idle, ...(judged && { judged }) };
}

function larger<T>(
  a: T | undefined,
  b: T | undefined,
  rank: (value: T) => readonly (number | string)[],
): T | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const left = [...rank(a), canonicalJson(a)];
  const right = [...rank(b), canonicalJson(b)];
  for (const [i, value] of left.entries()) {
    const other = right[i]!;
    if (value !== other) return value > other ? a : b;
  }
  return a;
}

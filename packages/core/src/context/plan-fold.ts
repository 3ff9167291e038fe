import type { ContextLimits } from "./context-options.ts";
import type { MemoryState } from "./memory-state.ts";

export interface FoldInput {
  /** Groups of the working layer, in order, with calibrated tokens. */
  readonly groups: readonly { readonly isStep: boolean; readonly tokens: number }[];
  /** Calibrated tokens of system prompt, tools, task and memory. */
  readonly floor: number;
  readonly limits: ContextLimits;
  readonly memory: Pick<MemoryState, "pauseUntilStep" | "fruitless" | "fruitlessMark" | "lastFold">;
  /** Number of the agent step that the next answer is. */
  readonly step: number;
  readonly humanTurns: number;
  readonly fold: "batched" | "eager";
  /** Agent steps in one summary. */
  readonly every: number;
  /** Whether the model is to be asked for a reset before a fold, and how often it was in this working layer. */
  readonly ask?: { readonly times: number } | undefined;
}

export type FoldPlan =
  | {
      readonly due: true;
      /** How many groups, from the oldest, are folded. */
      readonly count: number;
      readonly softLimit: number;
    }
  | {
      readonly due: false;
      /**
       * `below`: the limit is not passed · `waiting`: the model is asked to reset first · `paused`: a fold failed a short while
       * ago · `fruitless`: two folds gained too little and nothing has changed since · `small-gain`, `nothing`: what could be
       * folded is not worth a summary · `not-grown`: just folded.
       */
      readonly reason: "below" | "waiting" | "paused" | "fruitless" | "small-gain" | "nothing" | "not-grown";
      readonly softLimit: number;
    };

/** A fold must free that share of the working layer. */
const LEAST_GAIN = 0.2;
/** Share of the soft limit that stays unfolded. */
const TAIL = 0.25;
/** About what a full summary costs, in tokens. */
const SUMMARY_TOKENS = 350;

/** The soft limit where system prompt, tools, task and memory leave less below the hard limit. */
export function effectiveSoftLimit(limits: ContextLimits, floor: number): number {
  return Math.max(0, Math.min(limits.softLimit, limits.hardLimit - floor));
}

/** Whether a fold is due, and what it takes. Pure: the same state gives the same plan. */
export function planFold(input: FoldInput): FoldPlan {
  const softLimit = effectiveSoftLimit(input.limits, input.floor);
  const working = sum(input.groups);
  const overHard = input.floor + working > input.limits.hardLimit;
  const over = working > softLimit;
  const not = (reason: (FoldPlan & { due: false })["reason"]): FoldPlan => ({
    due: false,
    reason,
    softLimit,
  });

  const count = over ? batchedCount(input, softLimit) : input.fold === "eager" ? eagerCount(input) : 0;
  if (!over && count === 0) return not("below");
  if (input.memory.pauseUntilStep !== undefined && input.step < input.memory.pauseUntilStep)
    return not("paused");
  if (input.memory.fruitless >= 2 && sameConditions(input)) return not("fruitless");
  if (count === 0) return not("nothing");
  if (expectedGain(input, count) < LEAST_GAIN * working) return not("small-gain");
  if (!overHard) {
    // What a fold leaves may be above the limit by itself (one large group): wait until there is something new.
    const grown = working - (input.memory.lastFold?.workingTokens ?? 0);
    if (input.fold === "batched" && input.memory.lastFold && grown < LEAST_GAIN * input.limits.softLimit)
      return not("not-grown");
    if (input.ask && input.ask.times < 2) return not("waiting");
  }
  return { due: true, count, softLimit };
}

/** Identity of what a fold cannot change by itself: a user turn or other options make a new try worth while. */
export function foldConditions(input: Pick<FoldInput, "limits" | "humanTurns" | "fold">): string {
  const { window, hardLimit, softLimit } = input.limits;
  return [input.humanTurns, window, hardLimit, softLimit, input.fold].join("/");
}

/** Whether nothing has changed since the last fruitless fold; a clearly smaller floor is a change. */
export function sameConditions(
  input: Pick<FoldInput, "limits" | "humanTurns" | "fold" | "floor"> & {
    readonly memory: Pick<MemoryState, "fruitlessMark">;
  },
): boolean {
  const mark = input.memory.fruitlessMark;
  return mark?.conditions === foldConditions(input) && input.floor >= mark.floor * 0.9;
}

/** Whether a fold was worth it: it freed its share and brought the working layer under its limit. */
export function isFruitful(before: number, after: number, softLimitAfter: number): boolean {
  return after <= softLimitAfter && before - after >= LEAST_GAIN * before;
}

/** All but the tail: a quarter of the limit, and at least the newest step with what follows it. */
function batchedCount(input: FoldInput, softLimit: number): number {
  const { groups } = input;
  let start = groups.findLastIndex((group) => group.isStep);
  if (start <= 0) return 0;
  let kept = sum(groups.slice(start));
  while (start > 0 && kept + (groups[start - 1]?.tokens ?? 0) <= softLimit * TAIL)
    kept += groups[--start]?.tokens ?? 0;
  return endOfStep(groups, start);
}

/** The oldest steps in full summaries' worth, and never the newest one. */
function eagerCount(input: FoldInput): number {
  const steps = input.groups.flatMap((group, i) => (group.isStep ? [i] : []));
  const folded = Math.floor((steps.length - 1) / input.every) * input.every;
  return folded <= 0 ? 0 : (steps[folded - 1] as number) + 1;
}

/** The cut-off is an assistant message, so human turns in front of the tail stay with it. */
function endOfStep(groups: FoldInput["groups"], count: number): number {
  return groups.slice(0, count).findLastIndex((group) => group.isStep) + 1;
}

function expectedGain(input: FoldInput, count: number): number {
  const folded = input.groups.slice(0, count);
  const tokens = sum(folded);
  const steps = folded.filter((group) => group.isStep).length;
  const summary = Math.min(SUMMARY_TOKENS * Math.ceil(steps / input.every), 60 + 0.4 * tokens);
  return tokens - summary;
}

function sum(groups: readonly { readonly tokens: number }[]): number {
  return groups.reduce((total, group) => total + group.tokens, 0);
}

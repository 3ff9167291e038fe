import { StateFormatError } from "../errors.ts";
import type { ProgressCheckpoint } from "../progress/progress-state.ts";
import { readSummary, type StepSummary } from "../summary/step-summary.ts";

/** Channel `_longhaulMemory`. */
export interface MemoryState {
  readonly v: 1;
  /** Number of resets applied. */
  readonly epoch: number;
  /** Element keys of the resets that were applied, newest last (at most 10). */
  readonly appliedResets: readonly string[];
  /** Id of the last assistant message that has left the working layer (folded or before a reset); groups up to it are not in the view. */
  readonly cutoff?: string | undefined;
  /** Summaries of this epoch, oldest first; a tier-2 one replaces five of tier 1, and so on. */
  readonly summaries: readonly StepSummary[];
  /** Earlier epochs: out of the view. `ref` holds their summaries, absent when there were none or they could not be stored. */
  readonly pastEpochs: readonly {
    readonly epoch: number;
    readonly fromStep: number;
    readonly toStep: number;
    readonly ref?: string | undefined;
  }[];
  /** Identifiers kept by code, newest last. */
  readonly identifiers: readonly {
    readonly text: string;
    readonly step: number;
    readonly from: "human" | "effect" | "result" | "args";
  }[];
  /** Stored texts that the view may refer to, by reference. */
  readonly artifacts: Readonly<Record<string, StoredText>>;
  /** Element keys of large results that could not be stored: shown whole while they fit, never promised. */
  readonly unstored: readonly string[];
  /** Side effects already done, one line each, with step. Pinned outside all that folds. */
  readonly effectsDone: readonly { readonly step: number; readonly text: string }[];
  /** What the memory block shows of channels that change at any time, as of the last fold or reset: its bytes stay between folds. */
  readonly shown?: MemorySnapshot | undefined;
  /** Assistant message of the reset that began this epoch, until a fold: its siblings' fresh results are carried into the view. */
  readonly carriedFrom?: string | undefined;
  /** The last fold: when, and what it left in the working layer. */
  readonly lastFold?: { readonly step: number; readonly workingTokens: number } | undefined;
  /** Failed or fruitless folds: no new try before this step. */
  readonly pauseUntilStep?: number | undefined;
  /** Folds in a row that gained too little. From two on none is tried until `fruitlessMark` no longer fits. */
  readonly fruitless: number;
  /** Under what conditions the last fold was fruitless, or none was worth trying; reported once for each. */
  readonly fruitlessMark?: { readonly conditions: string; readonly floor: number } | undefined;
  /** Provider tokens ÷ estimated tokens of the last measured request. 1 until known. */
  readonly calibration: number;
}

interface StoredText {
  readonly label: string;
  readonly chars: number;
  readonly step: number;
  /** Element key (or message id) that it came from. */
  readonly of?: string;
  /** Element keys of other results with the same content. */
  readonly also?: readonly string[];
}

export interface MemorySnapshot {
  readonly progress?: ProgressCheckpoint | undefined;
  /** Key data as lines `key = value`. */
  readonly data: readonly string[];
  /** How many of the task's constraints are shown beside those of the options. */
  readonly constraints: number;
  /** Cap of the memory block in uncalibrated tokens, by the calibration of that moment. */
  readonly limit: number;
  /** Last agent step that was out of the working layer. */
  readonly toStep: number;
}

export const EMPTY_MEMORY: MemoryState = {
  v: 1,
  epoch: 0,
  appliedResets: [],
  summaries: [],
  pastEpochs: [],
  identifiers: [],
  artifacts: {},
  unstored: [],
  effectsDone: [],
  fruitless: 0,
  calibration: 1,
};

/**
 * Reads the channel as it came from a checkpoint; fields that an older version did not write get their empty value.
 * @throws StateFormatError when it is there and not readable
 */
export function readMemoryState(value: unknown): MemoryState {
  if (value === undefined || value === null) return EMPTY_MEMORY;
  const found = value as Partial<MemoryState>;
  const lists = [
    found.appliedResets,
    found.summaries,
    found.pastEpochs,
    found.identifiers,
    found.unstored,
    found.effectsDone,
  ];
  if (
    typeof value !== "object" ||
    found.v !== 1 ||
    lists.some((list) => list !== undefined && !Array.isArray(list)) ||
    (found.calibration !== undefined && !(found.calibration > 0)) ||
    (found.artifacts !== undefined && (typeof found.artifacts !== "object" || found.artifacts === null))
  ) {
    throw new StateFormatError({ channel: "_longhaulMemory", found: value, expected: "version 1" });
  }
  return { ...EMPTY_MEMORY, ...found, summaries: (found.summaries ?? []).map(readSummary) };
}

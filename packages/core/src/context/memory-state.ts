import type { StepSummary } from "../summary/step-summary.ts";

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
  /** Summaries of earlier epochs: out of the view, recallable by reference. */
  readonly pastEpochs: readonly {
    readonly epoch: number;
    readonly fromStep: number;
    readonly toStep: number;
    readonly ref: string;
  }[];
  /** Identifiers kept by code, newest last. */
  readonly identifiers: readonly {
    readonly text: string;
    readonly step: number;
    readonly from: "human" | "effect" | "result" | "args";
  }[];
  /** Stored texts that the view may refer to. Key: reference. `of` is the element key of the message that it came from. */
  readonly artifacts: Readonly<
    Record<
      string,
      { readonly label: string; readonly chars: number; readonly step: number; readonly of?: string }
    >
  >;
  /** Side effects already done, one line each, with step. Pinned outside all that folds. */
  readonly effectsDone: readonly { readonly step: number; readonly text: string }[];
  /** Failed or fruitless folds: no new try before this step. */
  readonly pauseUntilStep?: number | undefined;
  readonly fruitless: number;
  /** Provider tokens ÷ estimated tokens of the last measured request. 1 until known. */
  readonly calibration: number;
}

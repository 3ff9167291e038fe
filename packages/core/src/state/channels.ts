import type { BudgetMirror } from "../budget/budget-state.ts";
import type { KeyData } from "../context/key-data.ts";
import type { MemoryState } from "../context/memory-state.ts";
import type { TaskState } from "../context/task-state.ts";
import type { LoopState } from "../loops/loop-state.ts";
import type { ProgressState } from "../progress/progress-state.ts";
import type { RunState } from "../run/run-state.ts";

/**
 * Longhaul's own channels. Each has ONE writer (named below) except data and progress, whose reducers merge.
 * Values are plain JSON with `v`; what is read from a checkpoint goes through the `read…` function of its concern, which
 * validates and migrates.
 */
export interface LonghaulValues {
  /** Written by the context concern. */
  readonly _longhaulTask?: TaskState | undefined;
  /** Written by the context concern. */
  readonly _longhaulMemory?: MemoryState | undefined;
  /** Written by tools (`keepData`) and the context concern; merged by key. */
  readonly _longhaulData?: KeyData | undefined;
  /** Written by the checkpoint and reset tools and the progress concern; merged. */
  readonly _longhaulProgress?: ProgressState | undefined;
  /** Written by the loop concern. */
  readonly _longhaulLoops?: LoopState | undefined;
  /** Written by the budget concern. */
  readonly _longhaulBudget?: BudgetMirror | undefined;
  /** Written by the run concern (middleware: the outermost). */
  readonly _longhaulRun?: RunState | undefined;
}

export type LonghaulChannel = keyof LonghaulValues;

/** Text that Studio and the JSON schema show for each channel. */
export const CHANNEL_DESCRIPTIONS: Readonly<Record<LonghaulChannel, string>> = {
  _longhaulTask: "Original goal verbatim, constraints, later user directions",
  _longhaulMemory: "Summaries by tier, cut-off, epoch, index of identifiers and artifacts",
  _longhaulData: "Key data put there on purpose by tools or code",
  _longhaulProgress: "Latest progress checkpoint and cumulative counts",
  _longhaulLoops: "Window of recent actions, hints given",
  _longhaulBudget: "Budget totals, phase, level (mirror of the ledger)",
  _longhaulRun: "Status, agent step, stop reason, last failure in one line",
};

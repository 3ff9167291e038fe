import { stateAfterCheckpoints } from "./judge-checkpoint.ts";
import type { ResolvedProgressOptions } from "./progress-options.ts";
import type { ProgressState } from "./progress-state.ts";
import type { ProgressCall, ProgressStep } from "./progress-step.ts";

export interface ResetVerdict {
  readonly state: ProgressState;
  readonly granted: boolean;
  /** Why not, and what to do. */
  readonly refused?: string;
}

/**
 * Judges a reset call. Checkpoint calls of the same message count before it, wherever they stand in it.
 *
 * Refused without a checkpoint since the last reset and, from the second reset on, without at least one more done item than
 * at the last reset (source: the tutorial's `can_reset`, with a cumulative count).
 */
export function judgeReset(
  step: ProgressStep,
  call: ProgressCall,
  options: ResolvedProgressOptions,
): ResetVerdict {
  const state = stateAfterCheckpoints(step, options);
  const refuse = (refused: string): ResetVerdict => ({ state, granted: false, refused });
  const first = step.calls.find((it) => it.name === options.resetName);
  if (first && first.order < call.order) return refuse("Not reset: one reset in a step is enough.");
  if (!state.latest || state.latest.key === state.lastResetCheckpoint) {
    const since = state.resets > 0 ? " since the last reset" : "";
    return refuse(
      `Not reset: there is no checkpoint${since}, so everything would be lost. ` +
        `Call ${options.checkpointName} first (it may be in the same turn), then ${options.resetName}.`,
    );
  }
  if (state.resets > 0 && state.doneDigests.length <= state.doneAtLastReset) {
    return refuse(
      "Not reset: no step was finished since the last reset. Finish at least one step of `todo`, " +
        `save it as done with ${options.checkpointName}, then reset.`,
    );
  }
  return {
    granted: true,
    state: grantReset(state, { key: call.key, assistantId: step.assistantId, step: step.step }),
  };
}

/** The state with a reset in it that uses the latest checkpoint; applied when the next request is built. */
export function grantReset(state: ProgressState, at: NonNullable<ProgressState["reset"]>): ProgressState {
  return {
    ...state,
    reset: at,
    resets: state.resets + 1,
    doneAtLastReset: state.doneDigests.length,
    lastResetCheckpoint: state.latest?.key,
  };
}

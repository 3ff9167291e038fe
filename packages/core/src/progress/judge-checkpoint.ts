import { type NormalisedProgress, normaliseProgress } from "./normalise-progress.ts";
import type { ResolvedProgressOptions } from "./progress-options.ts";
import type { ProgressState } from "./progress-state.ts";
import type { ProgressCall, ProgressStep } from "./progress-step.ts";

export interface CheckpointVerdict {
  readonly state: ProgressState;
  readonly saved: boolean;
  readonly result: NormalisedProgress;
  /** Why it was not saved, and what to do. */
  readonly refused?: string;
}

/**
 * Judges one checkpoint call after all earlier ones of its message.
 *
 * A checkpoint without a new fact, done item or closed open item is idle. Of idle ones in a row the first is saved with a
 * warning, the next are refused, and the `idleCheckpoints`-th ends the run (`progressStop`).
 */
export function judgeCheckpoint(
  step: ProgressStep,
  call: ProgressCall,
  options: ResolvedProgressOptions,
): CheckpointVerdict {
  const earlier = step.calls.filter((it) => it.name === options.checkpointName && it.order < call.order);
  let state: ProgressState = step.freshTurn ? { ...step.state, idle: 0 } : step.state;
  for (const sibling of earlier) state = judgeOne(state, step, sibling, options).state;
  return judgeOne(state, step, call, options);
}

/** The state after all checkpoint calls of the message: what a reset beside them is judged by. */
export function stateAfterCheckpoints(step: ProgressStep, options: ResolvedProgressOptions): ProgressState {
  const last = step.calls.findLast((it) => it.name === options.checkpointName);
  return last ? judgeCheckpoint(step, last, options).state : step.state;
}

function judgeOne(
  state: ProgressState,
  step: ProgressStep,
  call: ProgressCall,
  options: ResolvedProgressOptions,
): CheckpointVerdict {
  const previous = state.latest && { ...state.latest, doneDigests: state.doneDigests };
  const result = normaliseProgress(call.args, previous, step.known, options.maxCharacters);
  const stamp = { step: step.step, order: call.order };
  const judged = { assistantId: step.assistantId, ...stamp };
  // malformed arguments are a mistake of form, which the loop concern watches; they say nothing about progress
  if (result.refused !== undefined) {
    return { state: { ...state, judged }, saved: false, result, refused: `Not saved: ${result.refused}.` };
  }
  const idle = result.moved ? 0 : state.idle + 1;
  if (idle >= 2) {
    return {
      state: { ...state, idle, judged },
      saved: false,
      result,
      refused:
        "Not saved: this is the second checkpoint in a row without a new fact, a finished step or a closed open item. " +
        "Do the next step of `todo` first. If you cannot go on, say what is missing and give your answer.",
    };
  }
  const latest = { ...result.progress, key: call.key, ...stamp };
  return {
    state: { ...state, latest, doneDigests: result.doneDigests, idle, judged },
    saved: true,
    result,
  };
}

import { StateFormatError } from "../errors.ts";

export const RUN_STATUSES = [
  "INIT",
  "RUNNING",
  "WAITING_TOOL",
  "COMPRESSING",
  "RECOVERING",
  "PAUSED",
  "COMPLETED",
  "FAILED",
  "NEEDS_HUMAN",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export type StopReason =
  | "final_answer"
  | "step_limit"
  | `budget:${string}`
  | "no_progress"
  | "loop"
  | "empty"
  | "cancelled"
  | "drained"
  | "fatal_error"
  | "recovery_limit";

/** Channel `_longhaulRun`. */
export interface RunState {
  readonly v: 1;
  readonly status: RunStatus;
  /** Agent step in the thread, from 1. */
  readonly step: number;
  /** Milliseconds since 1970 of the last change of status. */
  readonly since: number;
  readonly stopReason?: StopReason | undefined;
  /** The result is partial: the run ended before the task did. */
  readonly partial?: boolean | undefined;
  /** One line, copied from the run record after a resume; a later success removes it. */
  readonly lastFailure?: string | undefined;
  /** Number of resumes of this run, as the channel saw it. */
  readonly resumes: number;
}

/**
 * Validates what a checkpoint holds in `_longhaulRun`. Absent: a run that has not begun.
 *
 * @throws StateFormatError when it is damaged or written by a newer version
 */
export function readRunState(value: unknown): RunState {
  if (value === undefined || value === null) return { v: 1, status: "INIT", step: 0, since: 0, resumes: 0 };
  const state = value as Partial<RunState>;
  const sound =
    typeof value === "object" &&
    state.v === 1 &&
    RUN_STATUSES.includes(state.status as RunStatus) &&
    [state.step, state.since, state.resumes].every(
      (figure) => Number.isFinite(figure) && Number(figure) >= 0,
    );
  if (!sound) {
    throw new StateFormatError({
      channel: "_longhaulRun",
      found: value,
      expected: "an object with v: 1, a known status, step, since and resumes",
    });
  }
  return state as RunState;
}

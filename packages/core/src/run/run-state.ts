export type RunStatus =
  | "INIT"
  | "RUNNING"
  | "WAITING_TOOL"
  | "COMPRESSING"
  | "RECOVERING"
  | "PAUSED"
  | "COMPLETED"
  | "FAILED"
  | "NEEDS_HUMAN";

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

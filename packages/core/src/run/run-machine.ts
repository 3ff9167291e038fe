import { ForbiddenMoveError } from "./run-errors.ts";
import type { RunState, RunStatus, StopReason } from "./run-state.ts";

/** What may be done in a state. */
export type RunAction = "model" | "summary" | "tool" | "resume" | "input";

/** Where each state may go. A final state leaves only by a new input or a resume. */
const MOVES: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  INIT: ["RUNNING", "RECOVERING", "PAUSED", "FAILED", "NEEDS_HUMAN"],
  RUNNING: ["WAITING_TOOL", "COMPRESSING", "RECOVERING", "PAUSED", "COMPLETED", "FAILED", "NEEDS_HUMAN"],
  WAITING_TOOL: ["RUNNING", "RECOVERING", "PAUSED", "FAILED", "NEEDS_HUMAN"],
  COMPRESSING: ["RUNNING", "RECOVERING", "PAUSED", "FAILED", "NEEDS_HUMAN"],
  RECOVERING: ["RUNNING", "WAITING_TOOL", "PAUSED", "FAILED", "NEEDS_HUMAN"],
  PAUSED: ["RUNNING", "RECOVERING", "FAILED", "NEEDS_HUMAN"],
  COMPLETED: ["RUNNING"],
  FAILED: ["RUNNING", "RECOVERING"],
  NEEDS_HUMAN: ["RUNNING", "RECOVERING", "FAILED"],
};

/** What each state allows. One agent never thinks and acts at once, and nothing new starts while it is being put right. */
const PERMITTED: Readonly<Record<RunStatus, readonly RunAction[]>> = {
  INIT: ["input"],
  RUNNING: ["model"],
  WAITING_TOOL: ["tool"],
  COMPRESSING: ["summary"],
  RECOVERING: ["resume"],
  PAUSED: ["resume", "input"],
  COMPLETED: ["input"],
  FAILED: ["resume", "input"],
  NEEDS_HUMAN: ["resume", "input"],
};

/** How a run came to stand where it does. */
export interface MoveDetails {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly stopReason?: StopReason | undefined;
  readonly partial?: boolean | undefined;
}

/**
 * The state after a move. Staying is no move and always allowed. Stop reason and partial belong to the state they were
 * given for, and go with it.
 *
 * @throws ForbiddenMoveError
 */
export function move(state: RunState, to: RunStatus, details: MoveDetails): RunState {
  const allowed = MOVES[state.status];
  if (to !== state.status && !allowed.includes(to)) {
    throw new ForbiddenMoveError({ from: state.status, wanted: to, allowed });
  }
  const { stopReason: _reason, partial: _partial, ...rest } = state;
  return {
    ...rest,
    status: to,
    since: to === state.status ? state.since : details.now,
    ...(details.stopReason === undefined ? {} : { stopReason: details.stopReason }),
    ...(details.partial ? { partial: true } : {}),
  };
}

export function canMove(from: RunStatus, to: RunStatus): boolean {
  return from === to || MOVES[from].includes(to);
}

export function permits(status: RunStatus, action: RunAction): boolean {
  return PERMITTED[status].includes(action);
}

/** @throws ForbiddenMoveError */
export function assertPermitted(status: RunStatus, action: RunAction): void {
  if (!permits(status, action)) {
    throw new ForbiddenMoveError({ from: status, wanted: action, allowed: PERMITTED[status] });
  }
}

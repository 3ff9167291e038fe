import type { LoopState } from "./loop-state.ts";

/** What keeps coming back. */
export type LoopKind =
  /** A cycle of calls with the same results. */
  | "cycle"
  /** A cycle of calls, whatever the results. */
  | "actions"
  /** The same error of one tool. */
  | "error"
  /** Steps that bring nothing new. */
  | "no_progress"
  /** Declared polling whose result does not change. */
  | "poll"
  /** A service that answers 429 or 503. */
  | "unavailable"
  /** Steps that say the same. */
  | "similar"
  /** One answer that says the same over and over. */
  | "chant"
  /** Answers with neither a call nor anything to say. */
  | "idle";

export type LoopReason = "loop" | "no_progress" | "unavailable" | "empty";

/** What the detector says after an action or a step. */
export interface Observation {
  readonly state: LoopState;
  /** `hint`: tell the model; `block`: tell it and refuse the repeated calls; `stop`: end the run. */
  readonly signal: "none" | "hint" | "block" | "stop";
  readonly kind?: LoopKind;
  /** `unavailable` may come with `none`: the service is down, which is no loop. */
  readonly reason?: LoopReason;
  /** What was seen, in one sentence. */
  readonly evidence?: string;
}

import type { RunStatus, StopReason } from "../run/run-state.ts";
import type { FailureClass } from "./classify-error.ts";

/** Why a run goes on from saved state. */
export type ResumeCause = "crash" | "failure" | "pause";

/** Events of this concern. Nothing in them is shown to a model. */
export type RecoveryEvent =
  /** A run begins with a new input, or an unfinished one is taken up again. */
  | {
      readonly type: "recovery.admitted";
      readonly runId: string;
      readonly taken: "new" | "resumed" | "ended";
    }
  /** The graph is about to be resumed from its newest checkpoint. */
  | {
      readonly type: "recovery.resuming";
      readonly runId: string;
      readonly superstep: number;
      readonly cause: ResumeCause;
    }
  /** An attempt ended with an error, or a dead process was found. `delayMs` is the wait before the next; absent: none. */
  | {
      readonly type: "recovery.failed";
      readonly runId: string;
      readonly superstep: number;
      readonly class: FailureClass;
      readonly code: string;
      readonly message: string;
      readonly failuresOfStep: number;
      readonly recoveries: number;
      readonly delayMs?: number | undefined;
    }
  /** The calls of a step that failed too often were answered with an error result. */
  | {
      readonly type: "recovery.skipped";
      readonly runId: string;
      readonly superstep: number;
      readonly calls: number;
    }
  /** Somebody asked from outside for a pause or a stop (`requestStop`), and it was heard. */
  | { readonly type: "recovery.stop-requested"; readonly wish: "pause" | "cancel" }
  /** The run ended or paused. */
  | {
      readonly type: "recovery.ended";
      readonly runId: string;
      readonly status: RunStatus;
      readonly stopReason?: StopReason | undefined;
      readonly attempts: number;
    }
  /** The lease of a worker that is dead, or silent for too long, was taken. */
  | {
      readonly type: "lease.taken-over";
      readonly token: number;
      readonly fromPid: number;
      readonly dead: boolean;
    }
  | { readonly type: "lease.lost"; readonly token: number }
  /** The newest checkpoint cannot be used; `usedCheckpointId` is the ancestor that the run goes on from, if it does. */
  | {
      readonly type: "checkpoint.damaged";
      readonly reason: string;
      readonly usedCheckpointId?: string | undefined;
    }
  /** A promise of this concern does not hold with the given set-up. */
  | { readonly type: "recovery.degraded"; readonly detail: string };

import type { RunStatus, StopReason } from "./run-state.ts";

/** Events of this concern. */
export type RunEvent = {
  readonly type: "run.moved";
  readonly from: RunStatus;
  readonly to: RunStatus;
  /** Time spent in `from`, milliseconds; 0 where it is not known. */
  readonly ms: number;
  readonly stopReason?: StopReason | undefined;
  readonly partial?: boolean | undefined;
};

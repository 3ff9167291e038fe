import type { RunStatus, StopReason } from "../run/run-state.ts";
import type { RunFailure } from "./failure.ts";
import type { PendingInterrupt } from "./supervisable-graph.ts";

/** How a supervised run ended or paused. */
export interface SupervisedResult<State = Readonly<Record<string, unknown>>> {
  readonly status: RunStatus;
  /** Absent while an interrupt or a breakpoint waits. */
  readonly stopReason?: StopReason | undefined;
  /**
   * Values of the newest state, whatever the end: of a run that did not complete it is the partial result. Of an entrypoint what it
   * returned, and null before it has.
   */
  readonly state: State;
  /** Attempts over all processes, the first included. */
  readonly attempts: number;
  /** What failed last in this run, also when it completed in the end. */
  readonly lastFailure?: RunFailure | undefined;
  /** Questions that wait for an answer: pass `new Command({ resume })` as the next input. */
  readonly interrupts: readonly PendingInterrupt[];
  readonly runId: string;
}

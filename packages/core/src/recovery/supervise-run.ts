import type { RunnableConfig } from "@langchain/core/runnables";
import type { RunStatus, StopReason } from "../run/run-state.ts";
import type { RunFailure } from "./failure.ts";
import type { SupervisableGraph } from "./supervisable-graph.ts";
import type { SuperviseOptions } from "./supervise-options.ts";

/** How a supervised run ended or paused. */
export interface SupervisedResult<State = Record<string, unknown>> {
  readonly status: RunStatus;
  /** Absent while an interrupt or breakpoint waits for an answer. */
  readonly stopReason?: StopReason | undefined;
  /** Values of the newest state, also when the run failed: the partial result. */
  readonly state: State;
  /** Attempts over all processes, the first included. */
  readonly attempts: number;
  readonly lastFailure?: RunFailure | undefined;
  /** What waits for a person, as LangGraph gives it. Empty when nothing does. */
  readonly interrupts: readonly { readonly id?: string | undefined; readonly value?: unknown }[];
  readonly runId: string;
}

export async function superviseRun(
  graph: SupervisableGraph,
  input: unknown,
  config: RunnableConfig,
  options: SuperviseOptions = {},
): Promise<SupervisedResult> {
  throw new Error(`not yet ${graph} ${input} ${config} ${options}`);
}

import type { Result } from "./bars.ts";
import type { RecordedRun } from "./recorded-run.ts";

export interface BenchContext {
  /** Of the agent's run; other works scale with it, 300 is their full size. */
  readonly steps: number;
  readonly postgres: string;
  /** Whether the savers' checkpoints are read and compared one by one. */
  readonly compare: boolean;
  /** Bars are multiplied by this: short runs share fixed costs among fewer steps. */
  readonly slack: number;
  /** The agent's run, recorded once for all works. */
  readonly recorded: () => Promise<RecordedRun>;
}

export interface Work {
  readonly name: string;
  readonly title: string;
  readonly run: (context: BenchContext) => AsyncIterable<Result>;
}

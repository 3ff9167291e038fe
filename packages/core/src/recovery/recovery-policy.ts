import { backoffDelay, type ResolvedBackoff } from "./backoff.ts";
import type { RunFailure } from "./failure.ts";
import type { RunRecord } from "./run-record.ts";

/** What follows a failure. */
export type RecoveryDecision =
  | { readonly kind: "retry"; readonly delayMs: number }
  /** The step failed too often and its calls are answered with errors. */
  | { readonly kind: "skip" }
  | {
      readonly kind: "end";
      readonly status: "FAILED" | "NEEDS_HUMAN";
      readonly stopReason: "fatal_error" | "recovery_limit";
    };

export type Counts = Pick<RunRecord, "failures" | "recoveries">;

/**
 * Decides after a failure, and counts it. Failures are counted by superstep, since what fails is a step, and anew when another
 * of its tasks has finished: to an entrypoint the whole workflow is one superstep. Recoveries are counted over
 * the run, so that a run that limps from step to step ends too. A skip counts as a recovery.
 *
 * @param finishedTasks of the superstep that failed: their results are stored
 * @param immediate no wait before the retry: after a crash the restart of the process was wait enough
 */
export function decideRecovery(given: {
  readonly failure: RunFailure;
  readonly finishedTasks: number;
  readonly counts: Counts;
  readonly caps: { readonly step: number; readonly run: number };
  readonly backoff: ResolvedBackoff;
  readonly canSkip: boolean;
  readonly immediate: boolean;
  readonly random: () => number;
  readonly retryAfterMs?: number | undefined;
}): { readonly decision: RecoveryDecision; readonly counts: Counts; readonly failuresOfStep: number } {
  const { failure, counts, caps, finishedTasks } = given;
  const step = finishedTasks === 0 ? String(failure.superstep) : `${failure.superstep}+${finishedTasks}`;
  const ofStep = (counts.failures[step] ?? 0) + 1;
  const failures = { ...counts.failures, [step]: ofStep };
  const ended = { failures, recoveries: counts.recoveries };
  const recovered = { failures, recoveries: counts.recoveries + 1 };
  if (failure.class === "fatal") {
    return {
      decision: { kind: "end", status: "FAILED", stopReason: "fatal_error" },
      counts: ended,
      failuresOfStep: ofStep,
    };
  }
  const limit = { kind: "end", status: "NEEDS_HUMAN", stopReason: "recovery_limit" } as const;
  if (recovered.recoveries > caps.run) return { decision: limit, counts: ended, failuresOfStep: ofStep };
  if (ofStep > caps.step) {
    return given.canSkip
      ? { decision: { kind: "skip" }, counts: recovered, failuresOfStep: ofStep }
      : { decision: limit, counts: ended, failuresOfStep: ofStep };
  }
  const delayMs = given.immediate ? 0 : backoffDelay(ofStep, given.backoff, given.random, given.retryAfterMs);
  return { decision: { kind: "retry", delayMs }, counts: recovered, failuresOfStep: ofStep };
}

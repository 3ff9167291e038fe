import type { Deps } from "../clock.ts";
import type { Emit } from "../events/event.ts";
import { processOwner } from "../storage/owner.ts";
import type { RunFailure } from "./failure.ts";
import { decideRecovery, type RecoveryDecision } from "./recovery-policy.ts";
import type { RunOutcome } from "./run-outcome.ts";
import { type AdmittedInput, isEnded, type RunRecord } from "./run-record.ts";
import type { RunStore, StoredRun } from "./run-store.ts";
import type { StopWish } from "./stop-request.ts";
import type { RetryStorage } from "./storage-retry.ts";
import type { ResolvedSupervision } from "./supervise-options.ts";

/** The storage's side of a supervised run: its record, written before whatever relies on it. */
export class RunJournal {
  readonly #threadId: string;
  readonly #runs: RunStore;
  readonly #token: number;
  readonly #deps: Deps;
  readonly #options: ResolvedSupervision;
  readonly #retry: RetryStorage;
  readonly #emit: Emit;
  #run: StoredRun | undefined;

  constructor(parts: {
    readonly threadId: string;
    readonly runs: RunStore;
    /** Fencing token of the lease that is held. */
    readonly token: number;
    readonly deps: Deps;
    readonly options: ResolvedSupervision;
    readonly retry: RetryStorage;
    readonly emit: Emit;
  }) {
    this.#threadId = parts.threadId;
    this.#runs = parts.runs;
    this.#token = parts.token;
    this.#deps = parts.deps;
    this.#options = parts.options;
    this.#retry = parts.retry;
    this.#emit = parts.emit;
  }

  /** Reads the newest run of the thread; undefined when there was none. */
  async open(): Promise<RunRecord | undefined> {
    this.#run = await this.#retry(() => this.#runs.current(this.#threadId));
    return this.#run?.record;
  }

  /** The record as it was written last. */
  get record(): RunRecord | undefined {
    return this.#run?.record;
  }

  /** The record of the run that has been admitted. */
  get admitted(): RunRecord {
    if (!this.#run) throw new Error("no run has been admitted");
    return this.#run.record;
  }

  async begin(input: AdmittedInput, baseCheckpointId: string | null): Promise<void> {
    const now = this.#deps.clock.now();
    const previous = this.#run;
    const record: RunRecord = {
      v: 1,
      runId: this.#deps.newId(),
      number: (previous?.record.number ?? 0) + 1,
      status: "INIT",
      input,
      baseCheckpointId,
      owner: processOwner(),
      token: this.#token,
      attempts: 0,
      recoveries: 0,
      failures: {},
      startedAt: now,
      updatedAt: now,
    };
    this.#run = await this.#retry(() => this.#runs.begin(this.#threadId, previous, record));
  }

  /** The same run goes on because a person said so: with an answer, or with "go on". Its counts start anew if it had ended. */
  async goOn(input: AdmittedInput | undefined, baseCheckpointId: string | null): Promise<void> {
    if (!this.#run) return this.begin(input ?? { digest: null, stored: null }, baseCheckpointId);
    const counts = isEnded(this.#run.record) ? { failures: {}, recoveries: 0 } : {};
    const { beganWith = this.#run.record.input.digest } = this.#run.record;
    await this.update({
      ...counts,
      ...(input ? { input, baseCheckpointId, beganWith } : {}),
      status: "RUNNING",
    });
  }

  async update(change: Partial<RunRecord>): Promise<void> {
    const run = this.#run;
    if (!run) return;
    const mine = { owner: processOwner(), token: this.#token };
    this.#run = await this.#retry(() => this.#runs.update(this.#threadId, run, { ...change, ...mine }));
  }

  /** Counts a failure, before anything is done about it: a crash while waiting must not lose the count. */
  async count(
    failure: RunFailure,
    how: {
      readonly canSkip: boolean;
      readonly finishedTasks: number;
      readonly immediate: boolean;
      readonly retryAfterMs?: number | undefined;
    },
  ): Promise<RecoveryDecision> {
    const { decision, counts, failuresOfStep } = decideRecovery({
      ...how,
      failure,
      counts: this.admitted,
      caps: this.#options.caps,
      backoff: this.#options.backoff,
      random: this.#deps.random,
    });
    await this.update({ ...counts, lastFailure: failure, status: "RECOVERING" });
    this.#emit({
      type: "recovery.failed",
      runId: this.admitted.runId,
      superstep: failure.superstep,
      class: failure.class,
      code: failure.code,
      message: failure.message,
      failuresOfStep,
      recoveries: counts.recoveries,
      ...(decision.kind === "retry" ? { delayMs: decision.delayMs } : {}),
    });
    return decision;
  }

  /** What was asked for from outside, once. */
  async takeStopRequest(): Promise<StopWish | undefined> {
    const wish = await this.#retry(() => this.#runs.stopRequested(this.#threadId));
    if (wish !== undefined) await this.#retry(() => this.#runs.clearStopRequest(this.#threadId));
    return wish;
  }

  async end(outcome: RunOutcome): Promise<void> {
    await this.update({ status: outcome.status, stopReason: outcome.stopReason });
    await this.takeStopRequest();
    this.announceEnd(outcome);
  }

  announceEnd({ status, stopReason }: RunOutcome): void {
    const { runId = "", attempts = 0 } = this.#run?.record ?? {};
    this.#emit({ type: "recovery.ended", runId, status, stopReason, attempts });
  }
}

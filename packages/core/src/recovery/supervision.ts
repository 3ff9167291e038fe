import type { RunnableConfig } from "@langchain/core/runnables";
import { isGraphDrained } from "@langchain/langgraph";
import type { Deps } from "../clock.ts";
import { InvalidOptionsError } from "../errors.ts";
import type { Emit } from "../events/event.ts";
import type { ResumeNotice } from "../run/run-step.ts";
import { processOwner } from "../storage/owner.ts";
import { type Admission, decideAdmission, inputIsSaved } from "./admission.ts";
import {
  addressAnswer,
  carryOver,
  type DescribedInput,
  describeInput,
  restoreInput,
} from "./admitted-input.ts";
import type { DrainWatch } from "./drain.ts";
import { crashFailure, describeFailure, type RunFailure } from "./failure.ts";
import { findSoundAncestor, type Head, isDamage, loadHead } from "./head.ts";
import type { KeptLease } from "./lease-keeper.ts";
import { answerOpenCalls } from "./open-calls.ts";
import { DamagedHeadError, MissingReferenceError } from "./recovery-errors.ts";
import type { ResumeCause } from "./recovery-events.ts";
import { decideRecovery, type RecoveryDecision } from "./recovery-policy.ts";
import { resumeNote } from "./resume-note.ts";
import { outcomeOf, type RunOutcome } from "./run-outcome.ts";
import { isEnded, type RunRecord } from "./run-record.ts";
import type { RunStore, StoredRun } from "./run-store.ts";
import { retryStorage } from "./storage-retry.ts";
import type { GraphDriver, SaverView } from "./supervisable-graph.ts";
import type { ResolvedSupervision } from "./supervise-options.ts";
import type { SupervisedResult } from "./supervised-result.ts";

/** Runs the graph once; yields what a stream yields, nothing for an invoke. */
export type RunAttempt = (given: {
  readonly input: unknown;
  readonly resumed: boolean;
  readonly runId: string;
  readonly note: ResumeNotice | undefined;
}) => AsyncIterable<unknown>;

export interface SupervisionParts {
  readonly driver: GraphDriver;
  readonly saver: SaverView;
  readonly threadId: string;
  readonly thread: RunnableConfig;
  readonly runs: RunStore;
  readonly lease: KeptLease;
  readonly drain: DrainWatch;
  /** Aborted when the run must stop at once. */
  readonly cancel: AbortSignal;
  readonly options: ResolvedSupervision;
  readonly deps: Deps;
  readonly emit: Emit;
  readonly attempt: RunAttempt;
}

/** Where a run goes on: the input of the next attempt, and what the model should be told. */
interface Course {
  readonly input: unknown;
  readonly cause: ResumeCause | undefined;
}

/** One call of `superviseRun` on a thread whose lease is held. */
export class Supervision {
  readonly #parts: SupervisionParts;
  #run: StoredRun | undefined;

  constructor(parts: SupervisionParts) {
    this.#parts = parts;
  }

  /** Drives the run to its next end or pause. */
  async *drive(input: unknown): AsyncGenerator<unknown, SupervisedResult> {
    let settled = false;
    try {
      const result = yield* this.#admitAndDrive(input);
      settled = true;
      return result;
    } catch (error) {
      settled = true;
      const isRefusal = DamagedHeadError.isInstance(error) || MissingReferenceError.isInstance(error);
      if (!isRefusal) throw error;
      return this.#refuse(error);
    } finally {
      // Whoever read the stream stopped reading.
      if (!settled && !this.#parts.lease.lost.aborted) {
        await this.#update({ status: "PAUSED", stopReason: "cancelled" }).catch(() => {});
      }
    }
  }

  async *#admitAndDrive(input: unknown): AsyncGenerator<unknown, SupervisedResult> {
    const { runs, threadId, options, emit } = this.#parts;
    this.#run = await this.#storage(() => runs.current(threadId));
    const head = await this.#loadSoundHead();
    const described = describeInput(input);
    const record = this.#run?.record;
    const { reopen } = options;
    const undelivered = this.#parts.lease.takenFrom !== undefined;
    const admission = decideAdmission({ record, head, input: described, reopen, undelivered });
    const taken = admission.kind === "ended" || admission.kind === "new" ? admission.kind : "resumed";
    emit({ type: "recovery.admitted", runId: record?.runId ?? "", taken });
    if (admission.kind === "ended") return this.#result(head, recordedOutcome(record) ?? outcomeOf(head));
    if (admission.kind !== "new") await this.#checkReferences(head);
    const course = await this.#admit(admission, described, input, head);
    return "status" in course ? course : yield* this.#attempts(course, repeatable(described, input));
  }

  /** Writes the record of the admitted run and says where it starts, or how it ended before it could. */
  async #admit(
    admission: Admission,
    described: DescribedInput,
    input: unknown,
    head: Head,
  ): Promise<Course | SupervisedResult> {
    switch (admission.kind) {
      case "new":
        return this.#admitNew(input, head, admission.carries);
      case "answer": {
        const answer = addressAnswer(input, head.interrupts);
        const { stored } = describeInput(answer).admitted;
        const admitted = { digest: described.admitted.digest, stored, answersBefore: head.answers };
        await this.#continueRun(admitted, head.checkpointId);
        return { input: answer, cause: undefined };
      }
      case "resume":
        return this.#admitResume(admission, described, input, head);
      case "reenter":
        await this.#continueRun(undefined, null);
        await this.#storage(() => this.#parts.driver.updateState(this.#parts.thread, {}, "__start__"));
        return { input: null, cause: "pause" };
      default:
        throw new InvalidOptionsError({
          option: "input",
          value: input,
          expected: "an input: this thread has nothing to resume",
        });
    }
  }

  async #admitNew(input: unknown, head: Head, carries: boolean): Promise<Course> {
    const { driver, thread, options } = this.#parts;
    const earlier = carries ? restoreInput(this.#run?.record.input.stored ?? null) : undefined;
    let admitted = earlier === undefined ? input : carryOver(earlier, input);
    let base = head;
    const answers = answerOpenCalls(head.dangling, "superseded");
    if (answers.length > 0 && head.finished) {
      admitted = carryOver({ messages: answers }, admitted);
    } else if (answers.length > 0) {
      // As the node that was to answer them, and without a checkpoint id: so LangGraph keeps finished siblings' results.
      const node = head.pending[0] ?? options.toolsNode;
      await this.#storage(() => driver.updateState(thread, { messages: answers }, node));
      base = await this.#load();
    }
    await this.#begin(describeInput(admitted).admitted, base.checkpointId);
    return { input: admitted, cause: undefined };
  }

  async #admitResume(
    admission: Extract<Admission, { kind: "resume" }>,
    described: DescribedInput,
    input: unknown,
    head: Head,
  ): Promise<Course | SupervisedResult> {
    const record = this.#run?.record;
    if (!record || record.status === "COMPLETED") await this.#begin(described.admitted, null);
    else if (admission.fresh) await this.#update({ failures: {}, recoveries: 0 });
    const run = this.#current();
    const cause: ResumeCause = admission.crashed ? "crash" : "pause";
    const repeated = repeatable(described, input);
    // It died after its last step: only its end was not recorded.
    if (head.finished && inputIsSaved(run, head)) return this.#finish(head, outcomeOf(head));
    if (!admission.crashed) return { input: this.#nextInput(head, repeated), cause };
    const failure = crashFailure(this.#circumstances(head));
    const decision = await this.#count(failure, head, { immediate: true });
    const ended = await this.#act(decision, head, failure);
    if (ended) return ended;
    return { input: this.#nextInput(await this.#load(), repeated), cause };
  }

  async *#attempts(first: Course, repeated: unknown): AsyncGenerator<unknown, SupervisedResult> {
    const { drain, cancel, lease, emit, attempt } = this.#parts;
    let course = first;
    for (;;) {
      lease.lost.throwIfAborted();
      let head = await this.#load();
      if (cancel.aborted) return this.#finish(head, { status: "PAUSED", stopReason: "cancelled" });
      if (drain.requested) return this.#finish(head, { status: "PAUSED", stopReason: "drained" });
      const { runId, lastFailure } = this.#current();
      const resumed = course.cause !== undefined;
      const note =
        course.cause === undefined || course.input !== null
          ? undefined
          : resumeNote({ head, cause: course.cause, failure: lastFailure });
      await this.#update({
        status: "RUNNING",
        stopReason: undefined,
        attempts: this.#current().attempts + 1,
      });
      if (course.cause)
        emit({ type: "recovery.resuming", runId, superstep: head.superstep, cause: course.cause });
      let thrown: { readonly error: unknown } | undefined;
      try {
        yield* attempt({ input: course.input, resumed, runId, note });
      } catch (error) {
        thrown = { error };
      }
      lease.lost.throwIfAborted();
      head = await this.#load();
      if (!thrown) return this.#finish(head, outcomeOf(head));
      const pause = this.#pauseOf(thrown.error);
      if (pause) return this.#finish(head, pause);
      const ended = await this.#recover(thrown.error, head);
      if (ended) return ended;
      course = { input: this.#nextInput(await this.#load(), repeated), cause: "failure" };
    }
  }

  /** Errors that are no failures: somebody asked for the pause, or the steps allowed at once are used up. */
  #pauseOf(error: unknown): RunOutcome | undefined {
    if (this.#parts.cancel.aborted) return { status: "PAUSED", stopReason: "cancelled" };
    if (typeof error !== "object" || error === null) return undefined;
    if (isGraphDrained(error as Error)) return { status: "PAUSED", stopReason: "drained" };
    if ((error as { name?: unknown }).name === "GraphRecursionError") {
      return { status: "PAUSED", stopReason: "step_limit" };
    }
    return undefined;
  }

  async #recover(error: unknown, head: Head): Promise<SupervisedResult | undefined> {
    const { options } = this.#parts;
    const { failure, diagnosis } = describeFailure(error, {
      ...this.#circumstances(head),
      classify: options.classify,
    });
    const decision = await this.#count(failure, head, { retryAfterMs: diagnosis.retryAfterMs });
    return this.#act(decision, head, failure);
  }

  /** Counts a failure in the record, before anything is done about it: a crash while waiting must not lose the count. */
  async #count(
    failure: RunFailure,
    head: Head,
    how: { readonly immediate?: boolean; readonly retryAfterMs?: number | undefined },
  ): Promise<RecoveryDecision> {
    const { options, deps, emit } = this.#parts;
    const { decision, counts } = decideRecovery({
      failure,
      counts: this.#current(),
      caps: options.caps,
      backoff: options.backoff,
      canSkip: options.onStepCap === "skip" && head.dangling.length > 0 && head.pending.length > 0,
      immediate: how.immediate ?? false,
      random: deps.random,
      retryAfterMs: how.retryAfterMs,
    });
    await this.#update({ ...counts, lastFailure: failure, status: "RECOVERING" });
    emit({
      type: "recovery.failed",
      runId: this.#current().runId,
      superstep: failure.superstep,
      class: failure.class,
      code: failure.code,
      message: failure.message,
      failuresOfStep: counts.failures[String(failure.superstep)] ?? 0,
      recoveries: counts.recoveries,
      ...(decision.kind === "retry" ? { delayMs: decision.delayMs } : {}),
    });
    return decision;
  }

  /** Waits, skips or ends. Resolves to the result when the run ended. */
  async #act(
    decision: RecoveryDecision,
    head: Head,
    failure: RunFailure,
  ): Promise<SupervisedResult | undefined> {
    const { driver, thread, emit } = this.#parts;
    if (decision.kind === "end") return this.#finish(head, decision);
    if (decision.kind === "retry") {
      await this.#wait(decision.delayMs);
      return undefined;
    }
    const answers = answerOpenCalls(head.dangling, "gave-up", `${failure.code}: ${failure.message}`);
    await this.#storage(() => driver.updateState(thread, { messages: answers }, head.pending[0]));
    emit({
      type: "recovery.skipped",
      runId: this.#current().runId,
      superstep: head.superstep,
      calls: answers.length,
    });
    return undefined;
  }

  /** Null where the graph holds the input, else the input itself, once more. */
  #nextInput(head: Head, repeated: unknown): unknown {
    const record = this.#current();
    if (inputIsSaved(record, head)) return null;
    const input = repeated ?? restoreInput(record.input.stored);
    if (input !== undefined) return input;
    throw new InvalidOptionsError({
      option: "input",
      value: null,
      expected: "the admitted input once more: it never reached a checkpoint and is not plain JSON",
    });
  }

  async #loadSoundHead(): Promise<Head> {
    const { driver, thread, options } = this.#parts;
    try {
      return await this.#load();
    } catch (error) {
      const sound = DamagedHeadError.isInstance(error) ? error.soundCheckpointId : undefined;
      if (options.onDamagedHead === "fail" || sound === undefined) throw error;
      const ancestor = { configurable: { ...thread.configurable, checkpoint_id: sound } };
      // A copy of the ancestor becomes the head, marked as a fork; the damaged checkpoint stays for whoever looks into it.
      await this.#storage(() => driver.updateState(ancestor, null, "__copy__"));
      const head = await this.#load();
      this.#parts.emit({
        type: "checkpoint.damaged",
        reason: (error as Error).message,
        usedCheckpointId: sound,
      });
      return head;
    }
  }

  async #checkReferences(head: Head): Promise<void> {
    const found = await Promise.all(this.#parts.options.references.map((check) => check(head.values)));
    const missing = found.flat();
    if (missing.length > 0) throw new MissingReferenceError({ missing });
  }

  /** The run cannot go on as things are. Its record stays as it is, so that it goes on once they are repaired. */
  #refuse(error: Error): SupervisedResult {
    const { failure } = describeFailure(error, { superstep: -2, where: [], at: this.#now() });
    const outcome: RunOutcome = { status: "NEEDS_HUMAN", stopReason: "fatal_error" };
    if (DamagedHeadError.isInstance(error)) {
      this.#parts.emit({ type: "checkpoint.damaged", reason: failure.message });
    }
    this.#emitEnd(outcome);
    return { ...this.#result(undefined, outcome), lastFailure: failure };
  }

  async #finish(head: Head, outcome: RunOutcome): Promise<SupervisedResult> {
    await this.#update({ status: outcome.status, stopReason: outcome.stopReason });
    this.#emitEnd(outcome);
    return this.#result(head, outcome);
  }

  #emitEnd({ status, stopReason }: RunOutcome): void {
    const { runId = "", attempts = 0 } = this.#run?.record ?? {};
    this.#parts.emit({ type: "recovery.ended", runId, status, stopReason, attempts });
  }

  #result(head: Head | undefined, { status, stopReason }: RunOutcome): SupervisedResult {
    const record = this.#run?.record;
    return {
      status,
      ...(stopReason === undefined ? {} : { stopReason }),
      state: head?.values ?? {},
      attempts: record?.attempts ?? 0,
      ...(record?.lastFailure ? { lastFailure: record.lastFailure } : {}),
      interrupts: head?.interrupts ?? [],
      runId: record?.runId ?? "",
    };
  }

  async #begin(input: RunRecord["input"], baseCheckpointId: string | null): Promise<void> {
    const { runs, threadId, deps, lease } = this.#parts;
    const now = this.#now();
    const record: RunRecord = {
      v: 1,
      runId: deps.newId(),
      number: (this.#run?.record.number ?? 0) + 1,
      status: "INIT",
      input,
      baseCheckpointId,
      owner: processOwner(),
      token: lease.token,
      attempts: 0,
      recoveries: 0,
      failures: {},
      startedAt: now,
      updatedAt: now,
    };
    const previous = this.#run;
    this.#run = await this.#storage(() => runs.begin(threadId, previous, record));
  }

  /** The same run goes on because a person said so: with an answer, or with "go on". */
  async #continueRun(input: RunRecord["input"] | undefined, base: string | null): Promise<void> {
    if (!this.#run) return this.#begin(input ?? { digest: null, stored: null }, base);
    const counts = isEnded(this.#run.record) ? { failures: {}, recoveries: 0 } : {};
    await this.#update({ ...counts, ...(input ? { input, baseCheckpointId: base } : {}), status: "RUNNING" });
  }

  async #update(change: Partial<RunRecord>): Promise<void> {
    const { runs, threadId, lease } = this.#parts;
    const run = this.#run;
    if (!run) return;
    const mine = { owner: processOwner(), token: lease.token };
    this.#run = await this.#storage(() => runs.update(threadId, run, { ...change, ...mine }));
  }

  #current(): RunRecord {
    if (!this.#run) throw new Error("no run was admitted");
    return this.#run.record;
  }

  #circumstances(head: Head) {
    const where = head.dangling.length > 0 ? head.dangling.map((call) => call.name) : head.pending;
    return { superstep: head.superstep, where, at: this.#now() };
  }

  /** @throws DamagedHeadError, and what the storage throws */
  async #load(): Promise<Head> {
    const { driver, saver, thread, threadId } = this.#parts;
    try {
      return await this.#storage(() => loadHead(driver, saver, thread));
    } catch (error) {
      if (!isDamage(error)) throw error;
      const soundCheckpointId = await this.#storage(() => findSoundAncestor(driver, thread));
      throw new DamagedHeadError({
        threadId,
        reason: (error as Error).message,
        soundCheckpointId,
        cause: error,
      });
    }
  }

  #storage<T>(operation: () => Promise<T>): Promise<T> {
    const { options, deps, cancel } = this.#parts;
    return retryStorage(operation, { backoff: options.backoff, deps, signal: cancel });
  }

  async #wait(ms: number): Promise<void> {
    const { deps, drain, cancel } = this.#parts;
    if (ms === 0) return;
    await deps.clock.sleep(ms, { signal: AbortSignal.any([drain.pause, cancel]) }).catch(() => {
      // The loop looks at why it was woken.
    });
  }

  #now(): number {
    return this.#parts.deps.clock.now();
  }
}

/** The caller's own input, where it may serve instead of the stored copy; an answer has been addressed since. */
function repeatable(described: DescribedInput, input: unknown): unknown {
  return described.kind === "value" ? input : undefined;
}

function recordedOutcome(record: RunRecord | undefined): RunOutcome | undefined {
  if (!record || (!isEnded(record) && record.status !== "PAUSED")) return undefined;
  return { status: record.status, stopReason: record.stopReason };
}

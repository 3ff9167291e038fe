import { isGraphDrained } from "@langchain/langgraph";
import type { Deps } from "../clock.ts";
import { InvalidOptionsError } from "../errors.ts";
import type { Emit } from "../events/event.ts";
import type { ResumeNotice } from "../run/run-step.ts";
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
import type { Head } from "./head.ts";
import type { KeptLease } from "./lease-keeper.ts";
import { DamagedHeadError, MissingReferenceError } from "./recovery-errors.ts";
import type { ResumeCause } from "./recovery-events.ts";
import { resumeNote } from "./resume-note.ts";
import type { RunJournal } from "./run-journal.ts";
import { outcomeOf, type RunOutcome } from "./run-outcome.ts";
import { isEnded, type RunRecord } from "./run-record.ts";
import type { ResolvedSupervision } from "./supervise-options.ts";
import type { SupervisedResult } from "./supervised-result.ts";
import type { SupervisedThread } from "./supervised-thread.ts";

/** Runs the graph once; yields what a stream yields, nothing for an invoke. */
export type RunAttempt = (given: {
  readonly input: unknown;
  readonly resumed: boolean;
  readonly runId: string;
  readonly note: ResumeNotice | undefined;
  readonly wentBack: boolean;
}) => AsyncIterable<unknown>;

export interface SupervisionParts {
  readonly thread: SupervisedThread;
  readonly journal: RunJournal;
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

/** One call of `superviseRun` on a thread whose lease is held: admission, attempts, end. */
export class Supervision {
  readonly #parts: SupervisionParts;

  constructor(parts: SupervisionParts) {
    this.#parts = parts;
  }

  /** Drives the run to its next end or pause. */
  async *drive(input: unknown): AsyncGenerator<unknown, SupervisedResult> {
    const { thread, journal, lease } = this.#parts;
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
      if (!settled && !lease.lost.aborted) {
        const head = await thread.load().catch(() => undefined);
        await journal.end(this.#stopped(head, "cancelled")).catch(() => {});
      }
    }
  }

  async *#admitAndDrive(input: unknown): AsyncGenerator<unknown, SupervisedResult> {
    const { thread, journal, options, lease, emit } = this.#parts;
    const record = await journal.open();
    const head = await thread.loadSound();
    const described = describeInput(input);
    const { reopen } = options;
    const undelivered = lease.takenFrom !== undefined;
    const admission = decideAdmission({ record, head, input: described, reopen, undelivered });
    const taken = admission.kind === "ended" || admission.kind === "new" ? admission.kind : "resumed";
    emit({ type: "recovery.admitted", runId: record?.runId ?? "", taken });
    if (admission.kind === "ended") return this.#result(head, recordedOutcome(record) ?? outcomeOf(head));
    if (admission.kind !== "new") await thread.checkReferences(head);
    await this.#heedEarlierWish(admission);
    const course = await this.#admit(admission, described, input, head);
    if (thread.wentBack) await journal.update({ wentBack: true });
    return "status" in course ? course : yield* this.#attempts(course, repeatable(described, input));
  }

  /** A wish that the last worker died without hearing is for this one; any other is for a run that is over. */
  async #heedEarlierWish(admission: Admission): Promise<void> {
    const { journal, drain, emit } = this.#parts;
    const wish = await journal.takeStopRequest();
    if (wish === undefined || admission.kind !== "resume" || !admission.crashed) return;
    emit({ type: "recovery.stop-requested", wish });
    drain.request(wish);
  }

  /** Writes the record of the admitted run and says where it starts, or how it ended before it could. */
  async #admit(
    admission: Admission,
    described: DescribedInput,
    input: unknown,
    head: Head,
  ): Promise<Course | SupervisedResult> {
    const { thread, journal } = this.#parts;
    switch (admission.kind) {
      case "new":
        return this.#admitNew(input, head, admission.carries);
      case "answer": {
        const answer = addressAnswer(input, head.interrupts);
        const { stored } = describeInput(answer).admitted;
        const { digest } = described.admitted;
        await journal.goOn({ digest, stored, answersBefore: head.answers }, head.checkpointId);
        return { input: answer, cause: undefined };
      }
      case "resume":
        return this.#admitResume(admission, described, input, head);
      case "reenter":
        await journal.goOn(undefined, null);
        await thread.reenter();
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
    const { thread, journal } = this.#parts;
    const earlier = carries ? restoreInput(journal.record?.input.stored ?? null) : undefined;
    let admitted = earlier === undefined ? input : carryOver(earlier, input);
    let base = head;
    if (head.dangling.length > 0 && head.pending.length > 0) {
      base = await thread.closeCalls(head, "superseded");
    } else if (head.dangling.length > 0) {
      admitted = carryOver({ messages: await thread.answersFor(head, "superseded") }, admitted);
    }
    const { stored } = describeInput(admitted).admitted;
    // Told apart by what the caller said, so that the same words after a crash are known again.
    await journal.begin({ digest: describeInput(input).admitted.digest, stored }, base.checkpointId);
    return { input: admitted, cause: undefined };
  }

  async #admitResume(
    admission: Extract<Admission, { kind: "resume" }>,
    described: DescribedInput,
    input: unknown,
    head: Head,
  ): Promise<Course | SupervisedResult> {
    const { thread, journal } = this.#parts;
    const { record } = journal;
    if (!record || record.status === "COMPLETED") await journal.begin(described.admitted, null);
    else if (admission.fresh) await journal.update({ failures: {}, recoveries: 0 });
    // It died after its last step: only its end was not recorded.
    if (head.finished && inputIsSaved(journal.admitted, head)) return this.#finish(head, outcomeOf(head));
    const repeated = repeatable(described, input);
    if (!admission.crashed) return { input: this.#nextInput(head, repeated), cause: "pause" };
    const ended = await this.#recover(head, crashFailure(this.#circumstances(head)), { immediate: true });
    return ended ?? { input: this.#nextInput(await thread.load(), repeated), cause: "crash" };
  }

  async *#attempts(first: Course, repeated: unknown): AsyncGenerator<unknown, SupervisedResult> {
    const { thread, journal, drain, cancel, lease, options, emit, attempt } = this.#parts;
    let course = first;
    for (;;) {
      lease.lost.throwIfAborted();
      let head = await thread.load();
      if (cancel.aborted) return this.#finish(head, this.#stopped(head, "cancelled"));
      if (drain.requested) return this.#finish(head, this.#stopped(head, "drained"));
      const { input, cause } = course;
      const { runId, attempts, lastFailure: failure, wentBack = false } = journal.admitted;
      const note = cause && input === null ? resumeNote({ head, cause, failure }) : undefined;
      await journal.update({ status: "RUNNING", stopReason: undefined, attempts: attempts + 1 });
      if (cause) emit({ type: "recovery.resuming", runId, superstep: head.superstep, cause });
      let thrown: { readonly error: unknown } | undefined;
      try {
        yield* attempt({ input, resumed: cause !== undefined, runId, note, wentBack });
      } catch (error) {
        thrown = { error };
      }
      lease.lost.throwIfAborted();
      head = await thread.load();
      const outcome = thrown ? this.#pauseOf(thrown.error, head) : outcomeOf(head);
      if (outcome) return this.#finish(head, outcome);
      const context = { ...this.#circumstances(head), classify: options.classify };
      const described = describeFailure(thrown?.error, context);
      const { retryAfterMs } = described.diagnosis;
      const ended = await this.#recover(head, described.failure, { immediate: false, retryAfterMs });
      if (ended) return ended;
      course = { input: this.#nextInput(await thread.load(), first.input ?? repeated), cause: "failure" };
    }
  }

  /** Errors that are no failures: somebody asked for the pause, or the steps allowed at once are used up. */
  #pauseOf(error: unknown, head: Head): RunOutcome | undefined {
    if (this.#parts.cancel.aborted) return this.#stopped(head, "cancelled");
    if (typeof error !== "object" || error === null) return undefined;
    if (isGraphDrained(error as Error)) return this.#stopped(head, "drained");
    if ((error as { name?: unknown }).name === "GraphRecursionError") {
      return { status: "PAUSED", stopReason: "step_limit" };
    }
    return undefined;
  }

  /** A stop that came when the last step was saved already is no pause: going on would ask the model once more. */
  #stopped(head: Head | undefined, stopReason: "cancelled" | "drained"): RunOutcome {
    const isDone = head?.finished && inputIsSaved(this.#parts.journal.admitted, head);
    return isDone ? outcomeOf(head) : { status: "PAUSED", stopReason };
  }

  /** Counts a failure, then waits, skips or ends. Resolves to the result when the run ended. */
  async #recover(
    head: Head,
    failure: RunFailure,
    how: { readonly immediate: boolean; readonly retryAfterMs?: number | undefined },
  ): Promise<SupervisedResult | undefined> {
    const { thread, journal, options, emit } = this.#parts;
    const canSkip = options.onStepCap === "skip" && head.dangling.length > 0 && head.pending.length > 0;
    const finishedTasks = await thread.finishedTasks();
    const decision = await journal.count(failure, { ...how, canSkip, finishedTasks });
    if (decision.kind === "end") return this.#finish(head, decision);
    if (decision.kind === "retry") {
      await this.#wait(decision.delayMs);
      return undefined;
    }
    await thread.closeCalls(head, "gave-up", `${failure.code}: ${failure.message}`);
    emit({
      type: "recovery.skipped",
      runId: journal.admitted.runId,
      superstep: head.superstep,
      calls: head.dangling.length,
    });
    return undefined;
  }

  /** Null where the graph holds the input, else the input itself, once more. */
  #nextInput(head: Head, repeated: unknown): unknown {
    const record = this.#parts.journal.admitted;
    if (inputIsSaved(record, head)) return null;
    const isAnswer = record.input.answersBefore !== undefined;
    const input = restoreInput(record.input.stored) ?? (isAnswer ? null : repeated);
    // without the answer the graph asks again
    if (input !== undefined) return input;
    throw new InvalidOptionsError({
      option: "input",
      value: null,
      expected: "the admitted input once more: it never reached a checkpoint and is not plain JSON",
    });
  }

  /** The run cannot go on as things are. Its record stays as it is, so that it goes on once they are repaired. */
  #refuse(error: Error): SupervisedResult {
    const { journal, deps, emit } = this.#parts;
    const { failure } = describeFailure(error, { superstep: -2, where: [], at: deps.clock.now() });
    const outcome: RunOutcome = { status: "NEEDS_HUMAN", stopReason: "fatal_error" };
    if (DamagedHeadError.isInstance(error)) emit({ type: "checkpoint.damaged", reason: failure.message });
    journal.announceEnd(outcome);
    return { ...this.#result(undefined, outcome), lastFailure: failure };
  }

  async #finish(head: Head, outcome: RunOutcome): Promise<SupervisedResult> {
    await this.#parts.journal.end(outcome);
    return this.#result(head, outcome);
  }

  #result(head: Head | undefined, { status, stopReason }: RunOutcome): SupervisedResult {
    const { record } = this.#parts.journal;
    return {
      status,
      ...(stopReason === undefined ? {} : { stopReason }),
      state: (head ? head.state : {}) as SupervisedResult["state"],
      attempts: record?.attempts ?? 0,
      ...(record?.lastFailure ? { lastFailure: record.lastFailure } : {}),
      interrupts: head?.interrupts ?? [],
      runId: record?.runId ?? "",
    };
  }

  #circumstances(head: Head) {
    const where = head.dangling.length > 0 ? head.dangling.map((call) => call.name) : head.pending;
    return { superstep: head.superstep, where, at: this.#parts.deps.clock.now() };
  }

  async #wait(ms: number): Promise<void> {
    const { deps, drain, cancel } = this.#parts;
    if (ms === 0) return;
    await deps.clock.sleep(ms, { signal: AbortSignal.any([drain.pause, cancel]) }).catch(() => {
      // The loop looks at why it was woken.
    });
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

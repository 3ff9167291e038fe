import { type DescribedInput, isLastTurn } from "./admitted-input.ts";
import type { Head } from "./head.ts";
import { isEnded, type RunRecord } from "./run-record.ts";

/** What to do with an input, given what is known of the thread. */
export type Admission =
  /** A new run with this input. `carries`: it takes an earlier input along that never reached the state. */
  | { readonly kind: "new"; readonly carries: boolean }
  /** The unfinished run goes on. `crashed`: its process died. `fresh`: no record, or its counts start at zero. */
  | { readonly kind: "resume"; readonly crashed: boolean; readonly fresh: boolean }
  /** The unfinished run goes on with the answer to an interrupt. */
  | { readonly kind: "answer" }
  /** A run that a guard has closed with a last word goes on: the model is asked again. */
  | { readonly kind: "reenter" }
  /** Nothing to run: the outcome stands. */
  | { readonly kind: "ended" }
  /** Null on a thread where nothing ever ran. */
  | { readonly kind: "nothing" };

/**
 * Decides about an input. On an unfinished run, null or the admitted input resumes and any other input is a new human
 * message; on one that ended, the same input gives the same outcome unless a person reopens it; after COMPLETED every input
 * is new, since people do repeat themselves, but for a result that was never handed over.
 *
 * @param given.undelivered the last driver of the thread died, or was given up, with the lease in its hands
 */
export function decideAdmission(given: {
  readonly record: RunRecord | undefined;
  readonly head: Head;
  readonly input: DescribedInput;
  readonly reopen: boolean;
  readonly undelivered: boolean;
}): Admission {
  const { record, head, input, reopen } = given;
  if (input.kind === "answer") return decideAnswer(record, head, input);
  if (!record) return withoutRecord(head, input);
  const again = input.kind === "none" || isSame(record, input);
  if (!again) return newRun(record, head);
  if (record.status === "COMPLETED") {
    if (input.kind === "value" && !given.undelivered) return newRun(record, head);
    // Somebody drove the thread past our record.
    return head.finished ? { kind: "ended" } : { kind: "resume", crashed: false, fresh: true };
  }
  if (isEnded(record)) return reopen ? reopened(head) : { kind: "ended" };
  if (record.status !== "PAUSED") return { kind: "resume", crashed: true, fresh: false };
  if (head.onlyWaits) return { kind: "ended" };
  if (!head.finished || !inputIsSaved(record, head)) return { kind: "resume", crashed: false, fresh: false };
  // Null is somebody's "go on"; the same input once more is a worker that starts again.
  return input.kind === "none" ? { kind: "reenter" } : { kind: "ended" };
}

/** Whether the graph's own storage holds the admitted input; if not, it must be given again. */
export function inputIsSaved(record: RunRecord, head: Head): boolean {
  if (head.checkpointId !== record.baseCheckpointId) return true;
  // An answer is stored with the checkpoint that asked. Given twice, it would answer the next question too.
  return record.input.answersBefore !== undefined && head.answers > record.input.answersBefore;
}

function withoutRecord(head: Head, input: DescribedInput): Admission {
  if (head.checkpointId === null) {
    return input.kind === "none" ? { kind: "nothing" } : { kind: "new", carries: false };
  }
  if (input.kind === "none") {
    return head.finished || head.onlyWaits
      ? { kind: "ended" }
      : { kind: "resume", crashed: false, fresh: true };
  }
  if (!head.finished && isLastTurn(head.messages, input))
    return { kind: "resume", crashed: false, fresh: true };
  return { kind: "new", carries: false };
}

function newRun(record: RunRecord, head: Head): Admission {
  const unsaved = record.status !== "COMPLETED" && (head.atStart || !inputIsSaved(record, head));
  return { kind: "new", carries: unsaved };
}

function decideAnswer(record: RunRecord | undefined, head: Head, input: DescribedInput): Admission {
  // The same answer, sent again after a crash: whether the graph has it already is seen from its checkpoint.
  const isRepeated = record && isSame(record, input) && !isEnded(record) && record.status !== "PAUSED";
  if (isRepeated) return { kind: "resume", crashed: true, fresh: false };
  if (head.interrupts.length > 0) return { kind: "answer" };
  if (head.finished) return head.checkpointId === null ? { kind: "nothing" } : { kind: "ended" };
  return { kind: "resume", crashed: record !== undefined && record.status !== "PAUSED", fresh: !record };
}

function reopened(head: Head): Admission {
  return head.finished ? { kind: "reenter" } : { kind: "resume", crashed: false, fresh: true };
}

function isSame(record: RunRecord, input: DescribedInput): boolean {
  const { digest } = input.admitted;
  return digest !== null && (digest === record.input.digest || digest === record.beganWith);
}

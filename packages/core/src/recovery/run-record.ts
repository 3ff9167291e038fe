import { StateFormatError } from "../errors.ts";
import type { Json } from "../json/json.ts";
import type { RunStatus, StopReason } from "../run/run-state.ts";
import { type Owner, readOwner } from "../storage/owner.ts";
import type { RunFailure } from "./failure.ts";

/** What was asked for, kept until the run ends so that a run whose first checkpoint never came can start again. */
export interface AdmittedInput {
  /** Digest of the input without message ids, which LangGraph adds; null when it cannot be compared. */
  readonly digest: string | null;
  /** JSON copy of the input, messages in LangChain's stored form; null when it is not plain data. */
  readonly stored: Json;
  /** Of an answer to an interrupt: how many answers the checkpoint held before. */
  readonly answersBefore?: number | undefined;
}

/**
 * The record of a run: one admitted input with its resumes. It is the truth about attempts and failures, which must not
 * be lost or rolled back with the graph's state; the channel `_longhaulRun` is its mirror.
 */
export interface RunRecord {
  readonly v: 1;
  readonly runId: string;
  /** Number of the run in its thread, from 1. */
  readonly number: number;
  readonly status: RunStatus;
  readonly stopReason?: StopReason | undefined;
  /** The newest input: the run's own, or the answer to a question that it asked since. */
  readonly input: AdmittedInput;
  /** Digest of the run's own input, where `input` is an answer: whoever gives it again means this run. */
  readonly beganWith?: string | null | undefined;
  /** Newest checkpoint at admission; while the head is still this one, the input has not been saved by the graph. */
  readonly baseCheckpointId: string | null;
  /** Who drives it now, or drove it last. */
  readonly owner: Owner;
  /** Fencing token of the lease under which the record was written last. */
  readonly token: number;
  /** Attempts started, the first included. */
  readonly attempts: number;
  /** Recoveries after a failure or crash, over the whole run. */
  readonly recoveries: number;
  /** Failures by superstep, and with `+` by how many of its tasks had finished; only of steps that failed. */
  readonly failures: Readonly<Record<string, number>>;
  readonly lastFailure?: RunFailure | undefined;
  /** It went back behind a damaged checkpoint: effects that were done since are answered from the ledger, not done again. */
  readonly wentBack?: true | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly updatedAt: number;
}

const STATUSES: readonly RunStatus[] = [
  "INIT",
  "RUNNING",
  "WAITING_TOOL",
  "COMPRESSING",
  "RECOVERING",
  "PAUSED",
  "COMPLETED",
  "FAILED",
  "NEEDS_HUMAN",
];

/** Validates a record read from storage. @throws StateFormatError: a damaged record is never taken for a first run */
export function readRunRecord(value: unknown): RunRecord {
  const record = value as Partial<RunRecord> | null | undefined;
  const sound =
    typeof record === "object" &&
    record !== null &&
    record.v === 1 &&
    typeof record.runId === "string" &&
    STATUSES.includes(record.status as RunStatus) &&
    typeof record.input === "object" &&
    record.input !== null &&
    (record.baseCheckpointId === null || typeof record.baseCheckpointId === "string") &&
    [
      record.number,
      record.token,
      record.attempts,
      record.recoveries,
      record.startedAt,
      record.updatedAt,
    ].every((count) => Number.isFinite(count)) &&
    typeof record.failures === "object" &&
    record.failures !== null;
  if (!sound) {
    throw new StateFormatError({ channel: "runs", found: value, expected: "a run record of version 1" });
  }
  readOwner(record.owner);
  return record as RunRecord;
}

/** A run that ended for good; only a new message (or `reopen`) starts work in its thread again. */
export function isEnded(record: RunRecord): boolean {
  return record.status === "COMPLETED" || record.status === "FAILED" || record.status === "NEEDS_HUMAN";
}

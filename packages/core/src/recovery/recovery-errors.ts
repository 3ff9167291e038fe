import { hasErrorCode, LonghaulError } from "../errors.ts";
import type { Owner } from "../storage/owner.ts";

/** Another worker drives the run of this thread. Try again after `expiresAt`, or when its process is gone. */
export class LeaseHeldError extends LonghaulError {
  readonly code = "LEASE_HELD";
  override readonly retryable = true;
  readonly threadId: string;
  readonly owner: Owner;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;

  constructor(fields: { readonly threadId: string; readonly owner: Owner; readonly expiresAt: number }) {
    super(
      `Thread \`${fields.threadId}\` is being driven by process ${fields.owner.pid}; its lease ends at ` +
        `${new Date(fields.expiresAt).toISOString()} unless it is renewed. Wait for that run, or try again later.`,
    );
    this.threadId = fields.threadId;
    this.owner = fields.owner;
    this.expiresAt = fields.expiresAt;
  }

  static override isInstance(error: unknown): error is LeaseHeldError {
    return hasErrorCode(error, "LEASE_HELD");
  }
}

/** This worker lost the lease of its thread while it drove the run; whoever took it goes on. Nothing was written after. */
export class LeaseLostError extends LonghaulError {
  readonly code = "LEASE_LOST";
  readonly threadId: string;
  /** Fencing token of the lease that was lost. */
  readonly token: number;

  constructor(fields: { readonly threadId: string; readonly token: number; readonly cause?: unknown }) {
    super(
      `The lease ${fields.token} of thread \`${fields.threadId}\` was lost: it could not be renewed in time, or another ` +
        "worker took the thread over. This run has stopped; the other worker goes on from the last checkpoint.",
      { cause: fields.cause },
    );
    this.threadId = fields.threadId;
    this.token = fields.token;
  }

  static override isInstance(error: unknown): error is LeaseLostError {
    return hasErrorCode(error, "LEASE_LOST");
  }
}

/** The newest checkpoint of a thread cannot be used. Nothing was run and nothing was written on top of it. */
export class DamagedHeadError extends LonghaulError {
  readonly code = "DAMAGED_HEAD";
  readonly threadId: string;
  /** Newest earlier checkpoint that can be read; undefined when none was found. */
  readonly soundCheckpointId: string | undefined;

  constructor(fields: {
    readonly threadId: string;
    readonly reason: string;
    readonly soundCheckpointId: string | undefined;
    readonly cause?: unknown;
  }) {
    const advice =
      fields.soundCheckpointId === undefined
        ? "No earlier sound checkpoint was found; restore the storage from a backup."
        : `Checkpoint ${fields.soundCheckpointId} is sound: repair the storage, or go on from there with ` +
          '`onDamagedHead: "parent"`.';
    super(
      `The newest checkpoint of thread \`${fields.threadId}\` cannot be used. ${advice} Reason: ${fields.reason}`,
      { cause: fields.cause },
    );
    this.threadId = fields.threadId;
    this.soundCheckpointId = fields.soundCheckpointId;
  }

  static override isInstance(error: unknown): error is DamagedHeadError {
    return hasErrorCode(error, "DAMAGED_HEAD");
  }
}

/** Files, artifacts or other things that the state refers to are gone. Nothing was run. */
export class MissingReferenceError extends LonghaulError {
  readonly code = "MISSING_REFERENCE";
  readonly missing: readonly string[];

  constructor(fields: { readonly missing: readonly string[] }) {
    const shown = fields.missing.slice(0, 10).join(", ");
    super(
      `The saved state refers to what no longer exists: ${shown}${fields.missing.length > 10 ? ", …" : ""}. ` +
        "Restore it, or go on with a new message that says what to use instead.",
    );
    this.missing = fields.missing;
  }

  static override isInstance(error: unknown): error is MissingReferenceError {
    return hasErrorCode(error, "MISSING_REFERENCE");
  }
}

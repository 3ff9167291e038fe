import { hasErrorCode, LonghaulError } from "@longhaul/core";

/** A value has no stored form: a function, a symbol, a cycle, a class that is not on the allow-list, … Nothing was written. */
export class UnstorableValueError extends LonghaulError {
  readonly code = "UNSTORABLE_VALUE";
  /** Where it stands: `state.files[3].cb`. */
  readonly path: string;
  readonly reason: string;

  constructor(fields: { readonly path: string; readonly reason: string }) {
    super(
      `Cannot store the value at ${fields.path}: ${fields.reason}. Keep it out of the state or turn it into plain data` +
        `${/^instances of /.test(fields.reason) ? ", or name its class in `reviveClasses`" : ""}.`,
    );
    this.path = fields.path;
    this.reason = fields.reason;
  }

  static override isInstance(error: unknown): error is UnstorableValueError {
    return hasErrorCode(error, "UNSTORABLE_VALUE");
  }
}

/** Where a damaged record stands, as far as it is known. */
export interface RecordPlace {
  readonly threadId?: string | undefined;
  readonly namespace?: string | undefined;
  readonly checkpointId?: string | undefined;
  readonly channel?: string | undefined;
  /** Collection and key of a ledger record, or the reference of an artifact. */
  readonly record?: string | undefined;
}

/** Something stored is there but cannot be read: damaged, truncated, or written by a newer version. Never taken for absent. */
export class DamagedRecordError extends LonghaulError {
  readonly code = "DAMAGED_RECORD";
  readonly reason: string;
  readonly place: RecordPlace;

  constructor(fields: { readonly reason: string; readonly place?: RecordPlace; readonly cause?: unknown }) {
    const place = fields.place ?? {};
    const parts = [
      place.threadId !== undefined && `thread ${JSON.stringify(place.threadId)}`,
      place.namespace && `namespace ${JSON.stringify(place.namespace)}`,
      place.checkpointId !== undefined && `checkpoint ${place.checkpointId}`,
      place.channel !== undefined && `channel ${JSON.stringify(place.channel)}`,
      place.record !== undefined && `record ${JSON.stringify(place.record)}`,
    ].filter(Boolean);
    super(
      `Stored data cannot be read${parts.length > 0 ? ` (${parts.join(", ")})` : ""}: ${fields.reason}. ` +
        "Nothing was changed. `verify` lists what is damaged; an earlier checkpoint of the thread may be sound.",
      { cause: fields.cause },
    );
    this.reason = fields.reason;
    this.place = place;
  }

  /** The same damage, with what the caller knows about its place filled in. */
  at(place: RecordPlace): DamagedRecordError {
    return new DamagedRecordError({
      reason: this.reason,
      place: { ...place, ...this.place },
      cause: this.cause,
    });
  }

  static override isInstance(error: unknown): error is DamagedRecordError {
    return hasErrorCode(error, "DAMAGED_RECORD");
  }
}

/** Data is encrypted and the key for it is missing or another one, or it is not encrypted where a key is set. Nothing was changed. */
export class EncryptionError extends LonghaulError {
  readonly code = "ENCRYPTION";
  readonly reason: EncryptionFault;
  readonly keyId: string | undefined;

  constructor(fields: {
    readonly reason: EncryptionFault;
    readonly keyId?: string | undefined;
    readonly cause?: unknown;
  }) {
    const key = fields.keyId === undefined ? "the key" : `key ${JSON.stringify(fields.keyId)}`;
    const messages: Record<EncryptionFault, string> = {
      "no-key": `The data is encrypted with ${key}. Set \`encryptionKey\`.`,
      "unknown-key": `The data is encrypted with ${key}, which \`encryptionKey\` does not know. Keep old keys as long as rows use them.`,
      "wrong-key": `The data was encrypted under the name of ${key}, but with another key. Set the one it was written with.`,
      "bad-key": `${key[0]?.toUpperCase()}${key.slice(1)} is not a Uint8Array of 32 bytes, as AES-256 needs.`,
      plaintext:
        "The row is not encrypted, although an `encryptionKey` is set. Set `acceptPlaintext` to read rows of the time before the key.",
    };
    super(messages[fields.reason], { cause: fields.cause });
    this.reason = fields.reason;
    this.keyId = fields.keyId;
  }

  static override isInstance(error: unknown): error is EncryptionError {
    return hasErrorCode(error, "ENCRYPTION");
  }
}

export type EncryptionFault = "no-key" | "unknown-key" | "wrong-key" | "bad-key" | "plaintext";

/** The lease under which this writer works went to another worker. Nothing was written; that worker goes on with the run. */
export class FencedWriterError extends LonghaulError {
  readonly code = "FENCED_WRITER";
  readonly threadId: string;
  readonly token: number;

  constructor(fields: { readonly threadId: string; readonly token: number }) {
    super(
      `Another worker took over thread ${JSON.stringify(fields.threadId)}: fencing token ${fields.token} is outdated. ` +
        "Nothing was written. Stop this run; the other worker goes on with it.",
    );
    this.threadId = fields.threadId;
    this.token = fields.token;
  }

  static override isInstance(error: unknown): error is FencedWriterError {
    return hasErrorCode(error, "FENCED_WRITER");
  }
}

/** One piece of the state, or an artifact, is larger than the back end takes. Nothing was written. */
export class RecordTooLargeError extends LonghaulError {
  readonly code = "RECORD_TOO_LARGE";
  readonly bytes: number;
  readonly maxBytes: number;

  constructor(fields: { readonly record: string; readonly bytes: number; readonly maxBytes: number }) {
    super(
      `${fields.record} takes ${fields.bytes} bytes as stored, more than the ${fields.maxBytes} that this storage takes for one record. ` +
        "Nothing was written. Keep it outside the state and store a reference, or use another storage.",
    );
    this.bytes = fields.bytes;
    this.maxBytes = fields.maxBytes;
  }

  static override isInstance(error: unknown): error is RecordTooLargeError {
    return hasErrorCode(error, "RECORD_TOO_LARGE");
  }
}

/** Another process held the storage for longer than `busyWaitMs`. Nothing was written; the same call may succeed later. */
export class StorageBusyError extends LonghaulError {
  readonly code = "STORAGE_BUSY";
  override readonly retryable: boolean = true;
  readonly waitedMs: number;

  constructor(fields: { readonly target: string; readonly waitedMs: number; readonly cause?: unknown }) {
    super(
      `${fields.target} was locked by another process for ${Math.round(fields.waitedMs)} ms. Try again, or raise \`busyWaitMs\`.`,
      { cause: fields.cause },
    );
    this.waitedMs = fields.waitedMs;
  }

  static override isInstance(error: unknown): error is StorageBusyError {
    return hasErrorCode(error, "STORAGE_BUSY");
  }
}

/** The database server did not answer, refused the connection or dropped it. The outcome of a write under way is unknown; all writes may be repeated. */
export class StorageConnectionError extends LonghaulError {
  readonly code = "STORAGE_CONNECTION";
  override readonly retryable: boolean = true;
  readonly target: string;

  constructor(fields: { readonly target: string; readonly reason: string; readonly cause?: unknown }) {
    super(
      `${fields.target} cannot be reached: ${fields.reason}. Check that the server runs, then try again.`,
      {
        cause: fields.cause,
      },
    );
    this.target = fields.target;
  }

  static override isInstance(error: unknown): error is StorageConnectionError {
    return hasErrorCode(error, "STORAGE_CONNECTION");
  }
}

/** The storage refused a write: disk full, read-only, input/output error. Nothing of the call was written. */
export class StorageWriteError extends LonghaulError {
  readonly code = "STORAGE_WRITE";
  readonly reason: "full" | "read-only" | "io";

  constructor(fields: {
    readonly target: string;
    readonly reason: "full" | "read-only" | "io";
    readonly cause?: unknown;
  }) {
    super(`${fields.target} cannot be written (${fields.reason}). The checkpoint was not stored.`, {
      cause: fields.cause,
    });
    this.reason = fields.reason;
  }

  static override isInstance(error: unknown): error is StorageWriteError {
    return hasErrorCode(error, "STORAGE_WRITE");
  }
}

/** The target cannot be opened as a store of Longhaul: not a database, another program's, a newer version's. It was left untouched. */
export class UnreadableTargetError extends LonghaulError {
  readonly code = "UNREADABLE_TARGET";
  readonly target: string;
  readonly reason: string;

  constructor(fields: { readonly target: string; readonly reason: string; readonly cause?: unknown }) {
    super(`Cannot open ${fields.target}: ${fields.reason}. The file was left as it is.`, {
      cause: fields.cause,
    });
    this.target = fields.target;
    this.reason = fields.reason;
  }

  static override isInstance(error: unknown): error is UnreadableTargetError {
    return hasErrorCode(error, "UNREADABLE_TARGET");
  }
}

/** A thread id, namespace, checkpoint id, task id, channel or key cannot be an address: missing, empty, or not storable as text. */
export class InvalidAddressError extends LonghaulError {
  readonly code = "INVALID_ADDRESS";
  readonly field: string;

  constructor(fields: { readonly field: string; readonly reason: string }) {
    super(`\`${fields.field}\` ${fields.reason}.`);
    this.field = fields.field;
  }

  static override isInstance(error: unknown): error is InvalidAddressError {
    return hasErrorCode(error, "INVALID_ADDRESS");
  }
}

/** Two different values came for one version of a channel: the versions were not made by this saver's `getNextVersion`. */
export class VersionConflictError extends LonghaulError {
  readonly code = "VERSION_CONFLICT";
  readonly channel: string;
  readonly version: string | number;

  constructor(fields: {
    readonly threadId: string;
    readonly channel: string;
    readonly version: string | number;
  }) {
    super(
      `Thread ${JSON.stringify(fields.threadId)} holds another value for channel ${JSON.stringify(fields.channel)} at ` +
        `version ${fields.version}. Versions must come from this saver's getNextVersion; nothing was written.`,
    );
    this.channel = fields.channel;
    this.version = fields.version;
  }

  static override isInstance(error: unknown): error is VersionConflictError {
    return hasErrorCode(error, "VERSION_CONFLICT");
  }
}

/**
 * The thread was deleted while its run went on: the checkpoint builds on values that are gone. Nothing was written, so that no half of a
 * thread comes back.
 */
export class ThreadGoneError extends LonghaulError {
  readonly code = "THREAD_GONE";
  readonly threadId: string;

  constructor(fields: { readonly threadId: string; readonly parentId: string }) {
    super(
      `Thread ${JSON.stringify(fields.threadId)} no longer holds checkpoint ${fields.parentId}, from which this one goes on: it was ` +
        "deleted meanwhile. Nothing was written; start the thread anew.",
    );
    this.threadId = fields.threadId;
  }

  static override isInstance(error: unknown): error is ThreadGoneError {
    return hasErrorCode(error, "THREAD_GONE");
  }
}

/** A thread that must be new has checkpoints already. Nothing was written. */
export class ThreadExistsError extends LonghaulError {
  readonly code = "THREAD_EXISTS";
  readonly threadId: string;

  constructor(fields: { readonly threadId: string }) {
    super(
      `Thread ${JSON.stringify(fields.threadId)} has checkpoints already. Choose another id, or delete the thread first.`,
    );
    this.threadId = fields.threadId;
  }

  static override isInstance(error: unknown): error is ThreadExistsError {
    return hasErrorCode(error, "THREAD_EXISTS");
  }
}

/** The checkpoint that was named is not stored. */
export class NoSuchCheckpointError extends LonghaulError {
  readonly code = "NO_SUCH_CHECKPOINT";
  readonly threadId: string;
  readonly checkpointId: string | undefined;

  constructor(fields: { readonly threadId: string; readonly checkpointId?: string | undefined }) {
    const which =
      fields.checkpointId === undefined ? "no checkpoint" : `no checkpoint ${fields.checkpointId}`;
    super(`Thread ${JSON.stringify(fields.threadId)} has ${which}. Nothing was changed.`);
    this.threadId = fields.threadId;
    this.checkpointId = fields.checkpointId;
  }

  static override isInstance(error: unknown): error is NoSuchCheckpointError {
    return hasErrorCode(error, "NO_SUCH_CHECKPOINT");
  }
}

/** The storage cannot hold leases, so it cannot keep two workers from driving one thread. */
export class LeasesUnsupportedError extends LonghaulError {
  readonly code = "LEASES_UNSUPPORTED";
  readonly target: string;

  constructor(fields: { readonly target: string }) {
    super(
      `${fields.target} cannot hold leases. Use SQLite, Postgres or Redis where several workers may drive one thread.`,
    );
    this.target = fields.target;
  }

  static override isInstance(error: unknown): error is LeasesUnsupportedError {
    return hasErrorCode(error, "LEASES_UNSUPPORTED");
  }
}

/** What was given to `importThread` is not a whole, undamaged export. Nothing was stored. */
export class ImportError extends LonghaulError {
  readonly code = "IMPORT";
  /** From 1. */
  readonly line: number;
  readonly reason: string;

  constructor(fields: { readonly line: number; readonly reason: string; readonly cause?: unknown }) {
    super(`Line ${fields.line} cannot be imported: ${fields.reason}. Nothing was stored.`, {
      cause: fields.cause,
    });
    this.line = fields.line;
    this.reason = fields.reason;
  }

  static override isInstance(error: unknown): error is ImportError {
    return hasErrorCode(error, "IMPORT");
  }
}

/**
 * - `newer`: made by newer code than this; deploy that, or do not go on with the thread.
 * - `missing-step`: older than the first of `migrations`.
 * - `failed`: a function of `migrations` threw or gave something that is no state; see `cause`.
 * - `renamed-subgraph`: a node was renamed whose subgraph is in the middle of its work, which is stored under the old name.
 */
export type StateVersionFault = "newer" | "missing-step" | "failed" | "renamed-subgraph";

/** A checkpoint was made by another version of the code and cannot be brought to this one. Nothing was run or changed. */
export class StateVersionError extends LonghaulError {
  readonly code = "STATE_VERSION";
  readonly reason: StateVersionFault;
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  /** Version of the stored state. */
  readonly stored: number;
  /** Version of the code: that of the last of `migrations`. */
  readonly supported: number;
  /** The migration that is missing or failed, by the version it leads to. */
  readonly step: number | undefined;

  constructor(fields: {
    readonly reason: StateVersionFault;
    readonly threadId: string;
    readonly namespace: string;
    readonly checkpointId: string;
    readonly stored: number;
    readonly supported: number;
    readonly step?: number | undefined;
    readonly cause?: unknown;
  }) {
    const { reason, threadId, checkpointId, stored, supported } = fields;
    const step = fields.step ?? (reason === "missing-step" ? stored + 1 : undefined);
    const why = {
      newer: `this code knows versions up to ${supported}. Run the newer code, or add its \`migrations\``,
      "missing-step": `\`migrations\` has no step to version ${step}. Add it`,
      failed: `the migration to version ${step} failed: ${fields.cause instanceof Error ? fields.cause.message : String(fields.cause)}`,
      "renamed-subgraph": `the migration to version ${supported} renames a node whose subgraph has not finished. Let the older code finish it, or keep the name`,
    }[reason];
    super(
      `Checkpoint ${checkpointId} of thread ${JSON.stringify(threadId)} has state of version ${stored}, but ${why}. Nothing was run or changed.`,
      { cause: fields.cause },
    );
    this.reason = reason;
    this.threadId = threadId;
    this.namespace = fields.namespace;
    this.checkpointId = checkpointId;
    this.stored = stored;
    this.supported = supported;
    this.step = step;
  }

  static override isInstance(error: unknown): error is StateVersionError {
    return hasErrorCode(error, "STATE_VERSION");
  }
}

/** The saver was used after `end()`. */
export class StorageClosedError extends LonghaulError {
  readonly code = "STORAGE_CLOSED";

  constructor() {
    super("This saver was closed by end(). Create a new one.");
  }

  static override isInstance(error: unknown): error is StorageClosedError {
    return hasErrorCode(error, "STORAGE_CLOSED");
  }
}

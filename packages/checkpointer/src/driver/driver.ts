import type { RecordKey } from "@longhaul/core";

/**
 * What a back end must do. It moves opaque bytes and knows nothing of values, messages, graphs, packing or keys; `CompactSaver` decides
 * what is stored and seals it. Bring your own (object storage, another database) and run `storageDriverSuite` of the `./conformance`
 * subpath on it.
 *
 * - Calls take effect in the order in which they were made, also when their promises are not awaited.
 * - `commit`, `sweep` and `deleteThread` are all or nothing, across a process death too. Where several processes share the storage, they
 *   are atomic between these as well.
 * - Everything of a thread lives under its id; nothing is shared between threads, so deleting one needs no counting.
 * - All parts of addresses are non-empty well-formed texts without NUL of at most 4,096 UTF-8 bytes (namespaces, task paths and the thread of
 *   a record may be empty); every one of them works, also `__proto__`, `../x`, quotes and names that differ in case only.
 * - Callbacks in arguments are synchronous, may be called more than once, and what they throw ends the call with nothing written.
 * - Errors are typed: `StorageBusyError` (retryable) after the configured wait, `StorageWriteError`, `StorageConnectionError` (retryable),
 *   `UnreadableTargetError`, `DamagedRecordError`. A row that is there but unreadable is never reported as absent. After `close` every call
 *   throws `StorageClosedError`.
 */
export interface StorageDriver {
  /** For messages: the file or address, without credentials. */
  readonly target: string;
  /** What is written is there after the process died. */
  readonly survivesProcess: boolean;
  /**
   * What survives a power loss: every write, those that ask (`durable`), or none for certain.
   */
  readonly powerLoss: "all" | "on-request" | "none";
  /** Whether leases may be taken on `records`: compare-and-set and `commit`'s guard hold between processes. */
  readonly leases: boolean;
  /** Largest blob in bytes that the back end takes; undefined: no limit that matters. The saver refuses larger ones before it writes. */
  readonly maxBlobBytes?: number | undefined;
  readonly records: RecordTable;
  readonly artifacts: ArtifactTable;

  /** Idempotent, safe in several processes at once; other calls open on their own. Creates or migrates tables. */
  open(): Promise<void>;
  /** Waits for calls under way, then closes. Idempotent. */
  close(): Promise<void>;

  /** undefined when nothing was ever committed for the thread, or it was deleted. */
  thread(threadId: string): Promise<ThreadState | undefined>;
  commit(batch: Batch): Promise<CommitResult>;
  /** Removes and rewrites rows of a thread, if nothing was written since its lists were made. Changes the era. */
  sweep(sweep: Sweep): Promise<"done" | "changed">;
  /**
   * Erases checkpoints, values, chunks, writes, records and artifacts of the thread, durably. Records of the collection `leases` stay: their
   * tokens must not repeat. In the same transaction the record `generations` / `""` / threadId is replaced by what `raise` makes
   * of its data, so that the keys of a later life of the thread differ.
   */
  deleteThread(threadId: string, raise: (generation: Uint8Array | undefined) => Uint8Array): Promise<void>;

  /** A checkpoint's head, or without id the newest of the namespace: the one that was committed last, whatever the ids say. */
  head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined>;
  /** Heads, newest (last committed) first within a thread; threads one after another, oldest first. Reads in pages of bounded memory. */
  heads(query: HeadQuery): AsyncIterable<HeadRow>;
  /** Pending writes of a checkpoint, of these channels or of all, in no particular order. */
  writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]>;
  /** Values of channels at versions, in the order asked for; undefined where there is none. */
  values(threadId: string, namespace: string, keys: readonly ValueKey[]): Promise<(Uint8Array | undefined)[]>;
  /** Chunks by hash. What is not there is not in the result. */
  chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>>;

  /** Threads with at least one checkpoint, oldest first. */
  threads(): AsyncIterable<ThreadRow>;
  /** Every stored row of a thread, or of all, of these kinds or of every kind, in pages of bounded memory and no particular order. */
  rows(threadId?: string, kinds?: readonly RowKind[]): AsyncIterable<Row>;
  /** The back end's own check of its files or tables: one line for each problem. Changes nothing. */
  check(threadId?: string): Promise<readonly string[]>;
}

export interface ThreadState {
  /** Changes when the thread is deleted or swept, and never comes back: what was known to be stored may be gone. */
  readonly era: string;
  /** Changes with every commit, sweep and deletion, and never comes back. */
  readonly revision: string;
}

export interface HeadAddress {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
}

export interface HeadRow extends HeadAddress {
  readonly parentId: string | undefined;
  /** Grows with each commit of the thread, over all its namespaces. A head that is put again keeps its own. */
  readonly sequence: number;
  readonly data: Uint8Array;
}

export interface HeadQuery {
  readonly threadId?: string | undefined;
  readonly namespace?: string | undefined;
  readonly checkpointId?: string | undefined;
  /** Only sequences below this one. */
  readonly below?: number | undefined;
  /** At most this many; a hint for the size of a page too. */
  readonly limit?: number | undefined;
}

export interface ValueKey {
  readonly channel: string;
  readonly version: string;
}

export interface ValueRow extends ValueKey {
  readonly data: Uint8Array;
}

export interface WriteRow {
  readonly taskId: string;
  /** Negative for special channels, which may be replaced; others are write-once. */
  readonly index: number;
  readonly taskPath: string;
  readonly channel: string;
  readonly data: Uint8Array;
}

export interface ThreadRow {
  readonly threadId: string;
  readonly checkpoints: number;
  /** Of the checkpoint committed last, in any namespace. */
  readonly latestCheckpointId: string;
}

/** One atomic change of a thread. */
export interface Batch {
  readonly threadId: string;
  readonly namespace: string;
  /**
   * Era in which the chunks that are not in `chunks` were seen; undefined: the batch has all it refers to. If the era is another by
   * now, nothing is written and the result is `stale`.
   */
  readonly era: string | undefined;
  /** A chunk that exists already is kept. */
  readonly chunks: readonly { readonly hash: string; readonly data: Uint8Array }[];
  /** A value that exists already is kept; where `isSame` denies that it is the same, `conflict` is the result and nothing is written. */
  readonly values: readonly ValueRow[];
  /** Asked when a value exists with other bytes: the same text may be packed or sealed otherwise. */
  readonly isSame: (key: ValueKey, stored: Uint8Array, given: Uint8Array) => boolean;
  /** Replaces one of the same id. */
  readonly head?: {
    readonly checkpointId: string;
    readonly parentId: string | undefined;
    readonly data: Uint8Array;
  };
  readonly writes?: { readonly checkpointId: string; readonly rows: readonly WriteRow[] };
  /** Nothing is written, and the result is `refused`, when `allows` denies the record's data (undefined: there is none). */
  readonly guard?: { readonly key: RecordKey; readonly allows: (data: Uint8Array | undefined) => boolean };
}

export type CommitResult =
  | {
      readonly ok: true;
      readonly era: string;
      /** Newest checkpoint of the namespace before this one, when it is not this one's parent and not this one: a fork. */
      readonly sibling: string | undefined;
    }
  | { readonly ok: false; readonly reason: "stale" | "refused" }
  | { readonly ok: false; readonly reason: "conflict"; readonly key: ValueKey };

/** Retention's change of a thread. */
export interface Sweep {
  readonly threadId: string;
  /** Revision under which the lists were made; with another one nothing happens and the result is `changed`. */
  readonly revision: string;
  /** Removed with all their writes. Writes of an address without a head go too. */
  readonly heads: readonly HeadAddress[];
  readonly values: readonly (ValueKey & { readonly namespace: string })[];
  readonly chunks: readonly string[];
  /** Heads that stay with another parent or other data; they keep their sequence. */
  readonly rewritten: readonly Omit<HeadRow, "sequence">[];
}

export type RowKind = "head" | "value" | "write" | "chunk" | "record" | "artifact";

export type Row =
  | ({ readonly kind: "head" } & HeadRow)
  | ({ readonly kind: "value"; readonly threadId: string; readonly namespace: string } & ValueRow)
  | ({ readonly kind: "write" } & HeadAddress & WriteRow)
  | { readonly kind: "chunk"; readonly threadId: string; readonly hash: string; readonly data: Uint8Array }
  | ({ readonly kind: "record" } & RecordRow)
  | ({ readonly kind: "artifact"; readonly threadId: string } & ArtifactRow);

/** A ledger record as stored. */
export interface RecordRow {
  readonly key: RecordKey;
  readonly version: number;
  /** Milliseconds since 1970 from which on the record counts as absent for `get`, `compareAndSet`, `delete` and `list`. */
  readonly expiresAt: number | undefined;
  readonly data: Uint8Array;
}

/** The bytes behind a `RecordStore`; the same rules, see there. A version is a safe integer that never comes twice under its key. */
export interface RecordTable {
  get(key: RecordKey): Promise<RecordRow | undefined>;
  compareAndSet(
    key: RecordKey,
    expected: number | null,
    row: Pick<RecordRow, "data" | "expiresAt">,
    /** The write must survive a power loss before the promise resolves, as far as `powerLoss` promises. */
    durable: boolean,
  ): Promise<
    | { readonly ok: true; readonly version: number }
    | { readonly ok: false; readonly current: RecordRow | undefined }
  >;
  delete(key: RecordKey, expected?: number): Promise<boolean>;
  /** In the order of the keys' UTF-8 bytes. */
  list(collection: string, thread: string, prefix: string): AsyncIterable<RecordRow>;
  /** Removes expired records of a thread for good; resolves to how many. */
  purge(thread: string): Promise<number>;
}

/** A stored text under its reference. */
export interface ArtifactRow {
  readonly ref: string;
  readonly chars: number;
  readonly meta: Uint8Array;
  readonly data: Uint8Array;
}

export interface ArtifactTable {
  /** The first content under a reference stays. Resolves to whether this one was stored. */
  put(threadId: string, row: ArtifactRow): Promise<boolean>;
  get(threadId: string, ref: string): Promise<ArtifactRow | undefined>;
  /** Oldest first. */
  list(threadId: string): AsyncIterable<Omit<ArtifactRow, "data">>;
}

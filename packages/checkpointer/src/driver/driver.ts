import type { ArtifactStore, RecordStore } from "@longhaul/core";

/**
 * What a back end must do. It moves opaque bytes and knows nothing of values, messages or graphs; `CompactSaver` decides what is stored.
 *
 * - Calls take effect in the order in which they were made, also when their promises are not awaited.
 * - `commit` is all or nothing, across a process death too.
 * - Everything of a thread lives under its id; nothing is shared between threads, so deleting one needs no counting.
 * - Errors are typed: `StorageBusyError` (retryable) after the configured wait, `StorageWriteError`, `UnreadableTargetError`,
 *   `DamagedRecordError`. A row that is there but unreadable is never reported as absent.
 */
export interface StorageDriver {
  /** For messages: the file or address, without credentials. */
  readonly target: string;
  readonly survivesProcess: boolean;
  readonly records: RecordStore;
  readonly artifacts: ArtifactStore;

  /** Idempotent; other calls open on their own. Creates or migrates tables. */
  open(): Promise<void>;
  /** Waits for calls under way, then closes. Idempotent. */
  close(): Promise<void>;

  /** Era of a thread's chunks, or undefined when the thread is unknown. It changes when the thread is deleted or pruned. */
  era(threadId: string): Promise<string | undefined>;
  commit(batch: Batch): Promise<CommitResult>;

  /** The head row of a checkpoint, or of the newest one of the namespace. */
  head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined>;
  /** Addresses of checkpoints, newest id first. */
  addresses(query: HeadQuery): Promise<HeadAddress[]>;
  /** Pending writes of a checkpoint, of these channels or of all, in no particular order. */
  writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]>;
  /** Values of channels at versions, in the order asked for; undefined where there is none. */
  values(threadId: string, namespace: string, keys: readonly ValueKey[]): Promise<(Uint8Array | undefined)[]>;
  /** Chunks by hash. What is not there is not in the result. */
  chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>>;

  /** Threads with at least one checkpoint, oldest first. */
  threads(): AsyncIterable<ThreadRow>;
  /** Every stored blob of a thread that `stats` counts, or of all. */
  sizes(threadId?: string): AsyncIterable<{ readonly kind: BlobKind; readonly data: Uint8Array }>;
  /** All chunk hashes of a thread. */
  chunkHashes(threadId: string): AsyncIterable<string>;
  /** Erases checkpoints, chunks, writes, records and artifacts of the thread, and raises its generation. */
  deleteThread(threadId: string): Promise<void>;
}

export type BlobKind = "head" | "value" | "write" | "chunk";

export interface HeadAddress {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
}

export interface HeadRow extends HeadAddress {
  readonly parentId: string | undefined;
  readonly data: Uint8Array;
}

export interface HeadQuery {
  readonly threadId?: string | undefined;
  readonly namespace?: string | undefined;
  readonly checkpointId?: string | undefined;
  /** Only ids below this one. */
  readonly before?: string | undefined;
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
  readonly chunks: readonly { readonly hash: string; readonly data: Uint8Array }[];
  /** A value that exists already is kept; if it is another one, `conflict` is the result and nothing is written. */
  readonly values: readonly ValueRow[];
  /** Replaces one of the same id. */
  readonly head?: {
    readonly checkpointId: string;
    readonly parentId: string | undefined;
    readonly data: Uint8Array;
  };
  readonly writes?: { readonly checkpointId: string; readonly rows: readonly WriteRow[] };
}

export type CommitResult =
  | {
      readonly ok: true;
      readonly era: string;
      /** Newest checkpoint of the namespace before this one, when it is not this one's parent: a fork. */
      readonly sibling: string | undefined;
    }
  | { readonly ok: false; readonly reason: "stale" }
  | { readonly ok: false; readonly reason: "conflict"; readonly key: ValueKey };

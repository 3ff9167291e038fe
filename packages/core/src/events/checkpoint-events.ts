/** What a checkpointer reports. */
export type CheckpointEvent =
  | {
      /** A checkpoint was stored whose parent is no longer the newest one: two runs on one thread, or time travel. Both branches stay readable. */
      readonly type: "checkpoint.forked";
      readonly checkpointId: string;
      readonly parentId: string | undefined;
      /** Newest checkpoint of the namespace before this one, on the other branch. */
      readonly sibling: string;
    }
  /** Retention removed checkpoints of a thread; those that stay are complete. */
  | { readonly type: "checkpoint.pruned"; readonly kept: number; readonly removed: number }
  /** Retention could not do its work; nothing was removed, and the run goes on. The next change of status tries again. */
  | { readonly type: "checkpoint.prune_failed"; readonly error: string }
  /** What is written may be lost when the storage's server ends, effects too. Once for each driver. */
  | { readonly type: "storage.volatile"; readonly target: string; readonly reason: string };

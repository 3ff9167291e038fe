import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { type EventSink, emitter } from "@longhaul/core";
import type { HeadAddress } from "../driver/driver.ts";
import type { PruneReport } from "./prune.ts";

/** Threads whose status is remembered; forgetting one costs a prune without need. */
const THREADS = 1_000;

/**
 * Prunes a thread when the status of its run changes, beside the run: a put never waits for it and never fails because of it.
 */
export class RetentionKeeper {
  readonly #prune: (threadId: string) => Promise<PruneReport>;
  readonly #events: EventSink | undefined;
  readonly #now: () => number;
  readonly #statuses = new Map<string, unknown>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(
    prune: (threadId: string) => Promise<PruneReport>,
    options: { readonly events: EventSink | undefined; readonly now: () => number },
  ) {
    this.#prune = prune;
    this.#events = options.events;
    this.#now = options.now;
  }

  /** To be told of each stored checkpoint. */
  observe({ threadId, namespace }: HeadAddress, checkpoint: Checkpoint): void {
    const run = checkpoint.channel_values?._longhaulRun as { status?: unknown } | undefined;
    if (namespace !== "" || run?.status === undefined || this.#statuses.get(threadId) === run.status) return;
    this.#statuses.delete(threadId);
    this.#statuses.set(threadId, run.status);
    const [oldest] = this.#statuses.keys();
    if (this.#statuses.size > THREADS && oldest !== undefined) this.#statuses.delete(oldest);
    const before = this.#running.get(threadId) ?? Promise.resolve();
    const job = before.then(() => this.#run(threadId));
    this.#running.set(threadId, job);
    void job.then(() => {
      if (this.#running.get(threadId) === job) this.#running.delete(threadId);
    });
  }

  /** Resolves when no thread is being pruned. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #run(threadId: string): Promise<void> {
    const emit = emitter(this.#events, () => ({ time: this.#now(), threadId, namespace: "" }));
    try {
      const { kept, removed } = await this.#prune(threadId);
      if (removed.length > 0) emit({ type: "checkpoint.pruned", kept, removed: removed.length });
    } catch (error) {
      emit({ type: "checkpoint.prune_failed", error: String(error) });
    }
  }
}

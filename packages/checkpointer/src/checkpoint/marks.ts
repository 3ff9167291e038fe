import type { RecordStore } from "@longhaul/core";
import type { HeadAddress } from "../driver/driver.ts";

export interface Mark {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly label: string;
}

const COLLECTION = "marks";

/** Names that a user gave to checkpoints; records of the thread, so they go with it. */
export class Marks {
  readonly #records: RecordStore;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  /** A second mark of a checkpoint replaces the first. */
  async set({ threadId, namespace, checkpointId }: HeadAddress, label: string): Promise<void> {
    const key = { collection: COLLECTION, thread: threadId, key: JSON.stringify([namespace, checkpointId]) };
    for (;;) {
      const current = await this.#records.get(key);
      const result = await this.#records.compareAndSet(key, current?.version ?? null, { v: 1, label });
      if (result.ok) return;
    }
  }

  async of(threadId: string): Promise<Mark[]> {
    const marks: Mark[] = [];
    for await (const { key, value } of this.#records.list(COLLECTION, threadId)) {
      const [namespace, checkpointId] = JSON.parse(key.key) as [string, string];
      marks.push({ namespace, checkpointId, label: (value as { label: string }).label });
    }
    return marks;
  }
}

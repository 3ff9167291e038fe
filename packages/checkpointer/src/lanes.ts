import { SerialQueue } from "./serial-queue.ts";

/** Calls of one thread in the order in which they were made, those of different threads side by side. */
export class Lanes {
  readonly #lanes = new Map<string, { readonly queue: SerialQueue; waiting: number }>();

  async run<T>(name: string, job: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(name) ?? { queue: new SerialQueue(), waiting: 0 };
    this.#lanes.set(name, lane);
    lane.waiting += 1;
    try {
      return await lane.queue.run(job);
    } finally {
      lane.waiting -= 1;
      if (lane.waiting === 0) this.#lanes.delete(name);
    }
  }

  /** Resolves when all calls so far have ended. */
  async idle(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map(({ queue }) => queue.idle()));
  }
}

import { AsyncLocalStorage } from "node:async_hooks";

/** Lets a number of calls run at once; the others wait in order. */
export class Semaphore {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #inside = new AsyncLocalStorage<true>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Runs `work` in a slot. A call from inside a slot needs none: it would wait for the one that waits for it.
   * @throws the signal's reason, when it aborts before the work began
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#inside.getStore()) return work();
    await this.#enter(signal);
    try {
      return await this.#inside.run(true, work);
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#running < this.#limit) {
      this.#running++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal?.removeEventListener("abort", leave);
        this.#running++;
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(admit);
    });
  }
}

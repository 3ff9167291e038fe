/**
 * Runs jobs one after another in the order of the calls. An idle queue starts its job at once, in the caller's turn, so that a call that need
 * not wait costs no turn of the event loop.
 */
export class SerialQueue {
  #tail: Promise<void> | undefined;

  run<T>(job: () => Promise<T>): Promise<T> {
    const result = this.#tail ? this.#tail.then(job) : job();
    const settled: Promise<void> = result.then(ignore, ignore).then(() => {
      if (this.#tail === settled) this.#tail = undefined;
    });
    this.#tail = settled;
    return result;
  }

  /** Resolves when all jobs so far have ended. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}

function ignore(): void {}

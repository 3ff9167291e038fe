/** What this process knows to be in the storage for one thread, in one era. */
export interface Known {
  readonly era: string | undefined;
  readonly chunks: Set<string>;
  /** Addresses of stored channel values, see `valueId`. */
  readonly values: Set<string>;
}

const THREADS = 200;
/** Entries of one thread before it starts anew: a million-step run must not grow without bound. */
const ENTRIES = 200_000;

/** Remembers what need not be written again. Being wrong is impossible: a commit names the era, and the storage refuses another one. */
export class ThreadCache {
  readonly #threads = new Map<string, Known>();

  of(threadId: string): Known {
    const known = this.#threads.get(threadId);
    return known ?? { era: undefined, chunks: new Set(), values: new Set() };
  }

  /** Adds what was committed or read in `era`. Another era than the remembered one replaces it. */
  learn(threadId: string, era: string, chunks: Iterable<string>, values: Iterable<string>): void {
    let known = this.#threads.get(threadId);
    if (!known || known.era !== era || known.chunks.size + known.values.size > ENTRIES) {
      known = { era, chunks: new Set(), values: new Set() };
    }
    // last used last, so that the oldest is the first to go
    this.#threads.delete(threadId);
    this.#threads.set(threadId, known);
    for (const hash of chunks) known.chunks.add(hash);
    for (const value of values) known.values.add(value);
    if (this.#threads.size > THREADS) {
      const oldest = this.#threads.keys().next().value;
      if (oldest !== undefined) this.#threads.delete(oldest);
    }
  }

  forget(threadId: string): void {
    this.#threads.delete(threadId);
  }
}

export function valueId(namespace: string, channel: string, version: string | number): string {
  return JSON.stringify([namespace, channel, String(version)]);
}

import { randomUUID } from "node:crypto";

/** Time, injected everywhere so that tests decide it. */
export interface Clock {
  /** Wall time, milliseconds since 1970. */
  now(): number;
  /** Milliseconds that only grow inside one process; for durations. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. Never keeps the process alive by itself when `unref`. */
  sleep(
    ms: number,
    options?: { readonly signal?: AbortSignal | undefined; readonly unref?: boolean },
  ): Promise<void>;
}

/** What makes a run unpredictable, in one place. */
export interface Deps {
  readonly clock: Clock;
  /** A fresh unique id. */
  readonly newId: () => string;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** A timer above this (24.8 days) would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // not that of node:timers/promises, which makes an error with a stack trace for each sleep that is cut short
  sleep: (ms, { signal, unref = false } = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let timer: NodeJS.Timeout | undefined;
      const cutShort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const wait = (left: number) => {
        timer = setTimeout(
          () => {
            if (left > LONGEST_TIMER_MS) return wait(left - LONGEST_TIMER_MS);
            signal?.removeEventListener("abort", cutShort);
            resolve();
          },
          Math.min(left, LONGEST_TIMER_MS),
        );
        if (unref) timer.unref();
      };
      signal?.addEventListener("abort", cutShort, { once: true });
      wait(ms);
    }),
};

export const systemDeps: Deps = {
  clock: systemClock,
  newId: () => randomUUID(),
  random: () => Math.random(),
};

/** Fills what the caller left out with the system's. */
export function withSystemDeps(deps: Partial<Deps> | undefined): Deps {
  return { ...systemDeps, ...deps };
}

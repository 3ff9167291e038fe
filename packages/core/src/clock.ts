import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

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
  sleep: async (ms, options) => {
    let left = ms;
    do {
      await delay(Math.min(left, LONGEST_TIMER_MS), undefined, {
        ...(options?.signal ? { signal: options.signal } : {}),
        ref: !options?.unref,
      });
      left -= LONGEST_TIMER_MS;
    } while (left > 0);
  },
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

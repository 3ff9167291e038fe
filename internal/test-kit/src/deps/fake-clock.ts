import type { Clock } from "@longhaul/core";

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves time on and resolves the sleeps that end by then, earliest first; gives their continuations a turn each. */
  advance(ms: number): Promise<void>;
  /** Sleeps that wait now, by the time at which they end. */
  readonly sleeping: readonly number[];
  /** Every sleep asked for so far, in milliseconds: back-off can be read off. */
  readonly slept: readonly number[];
}

export interface FakeClockOptions {
  /** Wall time at the start, milliseconds since 1970. @default 1_700_000_000_000 */
  readonly start?: number | undefined;
  /** Sleeps end at once and move the clock by their length. @default false */
  readonly autoAdvance?: boolean | undefined;
}

export function fakeClock(options: FakeClockOptions = {}): FakeClock {
  const start = options.start ?? 1_700_000_000_000;
  let elapsed = 0;
  const waiting: { readonly at: number; readonly wake: () => void }[] = [];
  const slept: number[] = [];

  const sleep: Clock["sleep"] = (ms, { signal } = {}) => {
    slept.push(ms);
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (options.autoAdvance) {
      elapsed += Math.max(0, ms);
      return turn();
    }
    return new Promise((resolve, reject) => {
      const entry = { at: elapsed + Math.max(0, ms), wake: () => resolve() };
      waiting.push(entry);
      signal?.addEventListener(
        "abort",
        () => {
          const index = waiting.indexOf(entry);
          if (index >= 0) waiting.splice(index, 1);
          reject(signal.reason);
        },
        { once: true },
      );
    });
  };

  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    sleep,
    async advance(ms) {
      const end = elapsed + ms;
      await turn();
      for (;;) {
        const next = waiting.toSorted((a, b) => a.at - b.at)[0];
        if (!next || next.at > end) break;
        waiting.splice(waiting.indexOf(next), 1);
        elapsed = Math.max(elapsed, next.at);
        next.wake();
        await turn();
      }
      elapsed = end;
      await turn();
    },
    get sleeping() {
      return waiting.map(({ at }) => start + at).sort((a, b) => a - b);
    },
    get slept() {
      return [...slept];
    },
  };
}

/** Lets everything run that is ready, microtasks and immediates. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

import type { Clock } from "../clock.ts";

/** Told to the clock alone: an error would be made, with its stack, for each call. */
const DONE = Symbol("done");

/**
 * Does some work that must end in time. Its signal aborts at the time-out, and with the outer signal; work that ignores it goes on
 * behind our back, and what comes of it is not heard.
 *
 * @throws the time-out's error, also where work that obeys the signal rejects first in its own words
 */
export async function withDeadline<T>(
  given: {
    readonly clock: Clock;
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
    /** Makes the error; called once, at the time-out. */
    readonly late: () => Error;
  },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const done = new AbortController();
  const signal = given.signal ? AbortSignal.any([given.signal, timeout.signal]) : timeout.signal;
  const expiry = given.clock.sleep(given.timeoutMs, { signal: done.signal }).then(
    () => {
      const error = given.late();
      timeout.abort(error);
      throw error;
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([work(signal), expiry]);
  } catch (error) {
    throw timeout.signal.aborted ? timeout.signal.reason : error;
  } finally {
    done.abort(DONE);
  }
}

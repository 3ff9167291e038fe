import type { Deps } from "../clock.ts";
import { backoffDelay, type ResolvedBackoff } from "./backoff.ts";
import { classifyError } from "./classify-error.ts";

/** Runs an operation on the storage, again if need be. */
export type RetryStorage = <T>(operation: () => Promise<T>) => Promise<T>;

/**
 * Repeats operations on the storage that failed because the storage was out of reach. Such a failure is no failure of the
 * run's step and is not counted; after the last delay the error goes to the caller.
 */
export function storageRetry(how: {
  readonly backoff: ResolvedBackoff;
  readonly deps: Deps;
  readonly signal: AbortSignal;
}): RetryStorage {
  return async (operation) => {
    for (let retry = 1; ; retry++) {
      try {
        return await operation();
      } catch (error) {
        const isLast = retry > how.backoff.delaysMs.length;
        if (isLast || how.signal.aborted || classifyError(error) !== "retryable") throw error;
        const delay = backoffDelay(retry, how.backoff, how.deps.random);
        await how.deps.clock.sleep(delay, { signal: how.signal });
      }
    }
  };
}

import type { Deps } from "../clock.ts";
import { backoffDelay, type ResolvedBackoff } from "./backoff.ts";
import { classifyError } from "./classify-error.ts";

/**
 * Repeats an operation on the storage that failed because the storage was out of reach. Such a failure is no failure of the
 * run's step and is not counted; after the last delay the error goes to the caller.
 */
export async function retryStorage<T>(
  operation: () => Promise<T>,
  how: { readonly backoff: ResolvedBackoff; readonly deps: Deps; readonly signal: AbortSignal },
): Promise<T> {
  for (let retry = 1; ; retry++) {
    try {
      return await operation();
    } catch (error) {
      const isLast = retry > how.backoff.delaysMs.length;
      if (isLast || how.signal.aborted || classifyError(error) !== "retryable") throw error;
      await how.deps.clock.sleep(backoffDelay(retry, how.backoff, how.deps.random), { signal: how.signal });
    }
  }
}

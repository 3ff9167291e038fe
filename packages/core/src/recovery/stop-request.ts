import type { Clock } from "../clock.ts";
import { StateFormatError } from "../errors.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import type { StoredRecord } from "../storage/record-store.ts";
import type { DrainWatch } from "./drain.ts";
import type { RunStore } from "./run-store.ts";

/** `pause`: at the next superstep boundary; `cancel`: at once, running tools get their signal. */
export type StopWish = "pause" | "cancel";

const WISHES: readonly unknown[] = ["pause", "cancel"];

/**
 * Stops the run of a thread from outside, whichever process drives it: it ends as PAUSED, `drained` or `cancelled`, within
 * `SuperviseOptions.watchMs`, and goes on by `superviseRun(graph, null, …)`. A run whose worker is dead is stopped before the next
 * worker does anything. A cancel stands over a pause. Cost: two reads and a write.
 *
 * @param storage the one that the run is supervised with
 * @returns false when the thread has no run under way: there is nothing to stop
 */
export async function requestStop(
  storage: Pick<LonghaulStorage, "runs">,
  threadId: string,
  wish: StopWish,
): Promise<boolean> {
  return storage.runs.requestStop(threadId, wish);
}

/** Validates a stored wish. @throws StateFormatError */
export function readStopWish(stored: StoredRecord): StopWish {
  const { v, wish } = (stored.value ?? {}) as { readonly v?: unknown; readonly wish?: unknown };
  if (v !== 1 || !WISHES.includes(wish))
    throw new StateFormatError({ channel: "runs", found: stored.value, expected: "a wish of version 1" });
  return wish as StopWish;
}

/** Looks for a wish at once where asked, and then every `everyMs` until `signal` aborts; hands it to the drain. */
export async function watchStopRequests(given: {
  readonly runs: RunStore;
  readonly threadId: string;
  readonly drain: DrainWatch;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  readonly onWish: (wish: StopWish) => void;
}): Promise<void> {
  const { runs, threadId, drain, clock, everyMs, signal, onWish } = given;
  let heard: StopWish | undefined;
  while (!signal.aborted) {
    await clock.sleep(everyMs, { signal, unref: true });
    // a storage that does not answer is asked again: what it cannot say it says later
    const wish = await runs.stopRequested(threadId).catch(() => undefined);
    if (wish === undefined || wish === heard) continue;
    heard = wish;
    onWish(wish);
    drain.request(wish);
  }
}

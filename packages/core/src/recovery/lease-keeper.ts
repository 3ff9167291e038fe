import type { Clock } from "../clock.ts";
import type { Lease, LeaseStore } from "./lease-store.ts";
import { LeaseLostError } from "./recovery-errors.ts";

/** A lease that renews itself until it is closed or lost. */
export interface KeptLease {
  readonly token: number;
  readonly takenFrom: Lease["takenFrom"];
  /** Aborted, with a LeaseLostError as reason, when the lease is lost. */
  readonly lost: AbortSignal;
  /** Stops renewing and gives the lease back. Never throws: an unreleased lease ends by itself. */
  close(): Promise<void>;
}

/**
 * Acquires a lease and renews it three times in its life. A storage that does not answer is tried again until the lease's
 * time is over; then it is lost, since another worker may hold it by then.
 *
 * @throws LeaseHeldError
 */
export async function keepLease(
  store: LeaseStore,
  clock: Clock,
  threadId: string,
  ttlMs: number,
): Promise<KeptLease> {
  let lease = await store.acquire(threadId, ttlMs);
  const { token, takenFrom } = lease;
  const stop = new AbortController();
  const lost = new AbortController();
  const renewal = (async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(ttlMs / 3, { signal: stop.signal, unref: true });
      try {
        lease = await store.renew(lease, ttlMs);
      } catch (error) {
        if (!LeaseLostError.isInstance(error) && clock.now() < lease.expiresAt) continue;
        lost.abort(
          LeaseLostError.isInstance(error) ? error : new LeaseLostError({ threadId, token, cause: error }),
        );
        return;
      }
    }
  })().catch(() => {
    // The sleep was aborted: closed.
  });
  return {
    token,
    takenFrom,
    lost: lost.signal,
    close: async () => {
      stop.abort();
      await renewal;
      if (lost.signal.aborted) return;
      await store.release(lease).catch(() => {});
    },
  };
}

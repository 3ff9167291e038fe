import { InvalidOptionsError } from "../errors.ts";

/** How long to wait before a step is tried again. */
export interface BackoffOptions {
  /** Wait before the first, second, … retry of one step, milliseconds, each ≥ 0; the last one repeats. @default [1000, 5000, 30000] */
  readonly delaysMs?: readonly number[] | undefined;
  /** Share by which a delay is varied at random in both directions, 0 to 1. @default 0.2 */
  readonly jitter?: number | undefined;
  /** A longer wait asked for by a server (Retry-After) is cut to this, milliseconds ≥ 0. @default 600000 */
  readonly maxRetryAfterMs?: number | undefined;
}

export interface ResolvedBackoff {
  readonly delaysMs: readonly number[];
  readonly jitter: number;
  readonly maxRetryAfterMs: number;
}

/** @throws InvalidOptionsError */
export function resolveBackoff(options: BackoffOptions = {}): ResolvedBackoff {
  const resolved = {
    delaysMs: options.delaysMs ?? [1_000, 5_000, 30_000],
    jitter: options.jitter ?? 0.2,
    maxRetryAfterMs: options.maxRetryAfterMs ?? 600_000,
  };
  const isDelay = (ms: unknown) => Number.isFinite(ms) && (ms as number) >= 0;
  check(
    Array.isArray(resolved.delaysMs) && resolved.delaysMs.length > 0 && resolved.delaysMs.every(isDelay),
    "backoff.delaysMs",
    resolved.delaysMs,
    "a list of at least one number of milliseconds ≥ 0",
  );
  check(resolved.jitter >= 0 && resolved.jitter <= 1, "backoff.jitter", resolved.jitter, "between 0 and 1");
  check(
    isDelay(resolved.maxRetryAfterMs),
    "backoff.maxRetryAfterMs",
    resolved.maxRetryAfterMs,
    "a number of milliseconds ≥ 0",
  );
  return resolved;
}

/**
 * Milliseconds to wait before retry number `retry` (from 1) of one step.
 *
 * A server's Retry-After is a lower bound: never earlier than it said, and jitter comes on top only.
 */
export function backoffDelay(
  retry: number,
  options: ResolvedBackoff,
  random: () => number,
  retryAfterMs?: number | undefined,
): number {
  const base = options.delaysMs[Math.min(retry, options.delaysMs.length) - 1] ?? 0;
  const delay = Math.round(base * (1 + options.jitter * (2 * random() - 1)));
  return Math.max(delay, Math.min(retryAfterMs ?? 0, options.maxRetryAfterMs));
}

function check(ok: boolean, option: string, value: unknown, expected: string): void {
  if (!ok) throw new InvalidOptionsError({ option, value, expected });
}

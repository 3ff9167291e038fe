import type { KeyData } from "../context/key-data.ts";

/**
 * Reducer of a channel with one writer. Nested middleware may write it twice in one superstep (a retry around us calls
 * the handler again): the last one stands. Applying an update twice changes nothing.
 */
export function lastWins<T>(current: T, next: T | undefined): T {
  return next === undefined ? current : next;
}

/** Reducer of `_longhaulData`: entries by key, the later update wins. */
export function mergeKeyData(current: KeyData | undefined, next: KeyData | undefined): KeyData | undefined {
  if (!current || !next) return next ?? current;
  return { v: 1, entries: { ...current.entries, ...next.entries } };
}

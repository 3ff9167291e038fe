import { DamagedRecordError, type RecordPlace } from "../errors.ts";

/*
 * A damaged page may give a column of another type, which would surface later as a bare TypeError or as a wrong answer. SQLite checks types
 * when it writes, not when it reads.
 */

export function bytes(value: unknown, column: string): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw damaged(column, "bytes");
}

export function text(value: unknown, column: string): string {
  if (typeof value === "string") return value;
  throw damaged(column, "a text");
}

export function integer(value: unknown, column: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw damaged(column, "an integer");
}

/** NULL is undefined. */
export function optional<T>(
  value: unknown,
  column: string,
  read: (value: unknown, column: string) => T,
): T | undefined {
  return value === null || value === undefined ? undefined : read(value, column);
}

/** Damage that `read` finds in a column, with the place that the caller asked for. */
export function inPlace<T>(place: RecordPlace, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw DamagedRecordError.isInstance(error) ? error.at(place) : error;
  }
}

function damaged(column: string, expected: string): DamagedRecordError {
  return new DamagedRecordError({
    reason: `the column ${column} of a row of the database is not ${expected}`,
  });
}

import { statSync } from "node:fs";

/** Bytes of a closed SQLite database with its side files. */
export function databaseBytes(path: string): number {
  return ["", "-wal", "-shm"].reduce(
    (sum, suffix) => sum + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

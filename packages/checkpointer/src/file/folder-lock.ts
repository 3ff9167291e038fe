import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { type Deps, isAlive, processOwner, readOwner } from "@longhaul/core";
import { StorageBusyError } from "../errors.ts";

const BACKOFF_MS = [1, 2, 5, 10, 20] as const;

/**
 * Holds a lock file while `job` runs, which must be synchronous: it then ends before anything else of this process runs. The file names its
 * owner; the lock of a process of this host that is certainly gone is taken over.
 *
 * @throws StorageBusyError after `waitMs`
 */
export async function withLock<T>(
  path: string,
  { waitMs, deps }: { readonly waitMs: number; readonly deps: Pick<Deps, "clock" | "random"> },
  job: () => T,
): Promise<T> {
  const { clock, random } = deps;
  const start = clock.monotonic();
  for (let attempt = 0; !tryLock(path); attempt++) {
    if (isAbandoned(path)) takeOver(path);
    else {
      const waitedMs = clock.monotonic() - start;
      if (waitedMs >= waitMs) throw new StorageBusyError({ target: path, waitedMs });
      const base = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)] as number;
      await clock.sleep(base * (0.5 + random()));
    }
  }
  try {
    return job();
  } finally {
    unlinkSync(path);
  }
}

function tryLock(path: string): boolean {
  let file: number;
  try {
    file = openSync(path, "wx");
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  }
  try {
    writeSync(file, JSON.stringify(processOwner()));
  } finally {
    closeSync(file);
  }
  return true;
}

/** A file that is empty or gone belongs to one that is just taking or leaving it. */
function isAbandoned(path: string): boolean {
  try {
    const text = readFileSync(path, "utf8");
    return text !== "" && isAlive(readOwner(JSON.parse(text))) === false;
  } catch {
    return false;
  }
}

/** Under a lock of its own: of two that see the same dead owner, the second must not remove the lock that the first has taken meanwhile. */
function takeOver(path: string): void {
  const guard = `${path}.takeover`;
  if (!tryLock(guard)) {
    if (isAbandoned(guard)) unlinkSync(guard);
    return;
  }
  try {
    if (isAbandoned(path)) unlinkSync(path);
  } finally {
    unlinkSync(guard);
  }
}

import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
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

/** The file appears with its owner in it: one without, left by a process that died in between, would be nobody's and stay for ever. */
function tryLock(path: string): boolean {
  if (existsSync(path)) return false;
  const own = `${path}.${randomBytes(6).toString("hex")}`;
  writeFileSync(own, JSON.stringify(processOwner()));
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(own);
  }
}

/** A file that is gone belonged to one that has just left it. */
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

import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { StorageDriver } from "@longhaul/checkpointer";
import type { Storage } from "./stores.ts";

/** Where the child ends itself. `timer`: the parent ends it from outside, at any moment. */
export type CrashPoint =
  | "timer"
  | `${"before" | "after"} ${"commit" | "sweep" | "delete" | "record" | "artifact"}`
  | "torn write"
  | "before write"
  | "before rename"
  | "after rename"
  | "before unlink"
  | "after create"
  | "before link"
  | "after link"
  | "before statement"
  | "after statement";

/** In the middle of what the file driver does with its files. */
export const FILE_POINTS = [
  "torn write",
  "before write",
  "before rename",
  "after rename",
  "before unlink",
  "after create",
  "before link",
  "after link",
] as const satisfies readonly CrashPoint[];
const CALLS = ["commit", "sweep", "delete", "record", "artifact"] as const;

export function crashPointsOf(storage: Storage): readonly CrashPoint[] {
  const calls = CALLS.flatMap((call) => [`before ${call}` as const, `after ${call}` as const]);
  if (storage === "file") return [...calls, ...FILE_POINTS];
  if (storage === "postgres") return [...calls, "before statement", "after statement"];
  return calls;
}

/** Calls at the point are counted; the one at which `countdown` reaches zero is the last. */
export function arm(driver: StorageDriver, point: CrashPoint, countdown: number): StorageDriver {
  let left = countdown;
  const die = () => {
    if (--left <= 0) process.kill(process.pid, "SIGKILL");
  };
  if (/write|rename|link|create/.test(point)) armFiles(point, die);
  if (point.endsWith("statement")) armStatements(point, die);
  const around = async <T>(call: (typeof CALLS)[number], run: () => Promise<T>): Promise<T> => {
    if (point === `before ${call}`) die();
    const result = await run();
    if (point === `after ${call}`) die();
    return result;
  };
  const { records, artifacts } = driver;
  return override(driver, {
    commit: (batch) => around("commit", () => driver.commit(batch)),
    sweep: (sweep) => around("sweep", () => driver.sweep(sweep)),
    deleteThread: (id, raise) => around("delete", () => driver.deleteThread(id, raise)),
    records: override(records, {
      compareAndSet: (...args) => around("record", () => records.compareAndSet(...args)),
    }),
    artifacts: override(artifacts, { put: (...args) => around("artifact", () => artifacts.put(...args)) }),
  });
}

/** The object with some members replaced; others are called on the object itself, which has private fields. */
function override<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value = target[name as keyof T];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The file driver's own calls of the file system. */
function armFiles(point: CrashPoint, die: () => void): void {
  const { writeSync, renameSync, linkSync, unlinkSync, openSync } = fs;
  const isOurs = (path: unknown) => String(path).includes("threads");
  const patched = fs as { -readonly [K in keyof typeof fs]: unknown };
  // the child's log is written with `appendFileSync`, which does not come by here
  if (point === "torn write")
    patched.writeSync = (file: number, data: Buffer | string, ...rest: unknown[]) => {
      const bytes = Buffer.from(data as string);
      const tear = () =>
        (writeSync as (...args: unknown[]) => number)(
          file,
          bytes.subarray(0, bytes.length >> 1),
          0,
          bytes.length >> 1,
          rest[2],
        );
      tear();
      die();
      return (writeSync as (...args: unknown[]) => number)(file, data, ...rest);
    };
  if (point === "before write")
    patched.writeSync = (...args: unknown[]) => {
      die();
      return (writeSync as (...all: unknown[]) => number)(...args);
    };
  if (point.endsWith("rename"))
    patched.renameSync = (from: string, to: string) => {
      if (point === "before rename") die();
      renameSync(from, to);
      if (point === "after rename") die();
    };
  if (point === "before link" || point === "after link")
    patched.linkSync = (from: string, to: string) => {
      if (point === "before link") die();
      linkSync(from, to);
      if (point === "after link") die();
    };
  if (point === "before unlink")
    patched.unlinkSync = (path: string) => {
      if (isOurs(path)) die();
      unlinkSync(path);
    };
  if (point === "after create")
    patched.openSync = (path: string, flags: string, ...rest: unknown[]) => {
      const file = (openSync as (...args: unknown[]) => number)(path, flags, ...rest);
      if (isOurs(path) && flags.startsWith("w")) die();
      return file;
    };
  syncBuiltinESMExports();
}

/** Between the statements of a transaction, before and after the server has one. */
function armStatements(point: CrashPoint, die: () => void): void {
  const { Client } = createRequire(import.meta.url)("pg") as {
    Client: { prototype: { query: (...args: unknown[]) => unknown } };
  };
  const { query } = Client.prototype;
  Client.prototype.query = function (...args: unknown[]) {
    if (point === "before statement") die();
    const result = query.apply(this, args);
    if (point === "after statement") die();
    return result;
  };
}

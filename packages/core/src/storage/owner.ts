import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { StateFormatError } from "../errors.ts";

/**
 * Which process holds a claim or a lease; plain JSON, stored beside it.
 *
 * A pid alone is not an identity: pids are reused, start again at boot, and are numbered per container.
 */
export interface Owner {
  readonly v: 1;
  /** Boot id and pid namespace where the system has them, else the host name: only owners of one host can be compared. */
  readonly host: string;
  readonly pid: number;
  /** Start of the process in ticks since boot; null where the system does not tell. */
  readonly started: string | null;
}

/** What the system knows about a process of this host. */
export type ProcessProbe = (pid: number) => "absent" | { readonly started: string | null };

let self: Owner | undefined;

/** The identity of this process. Read once. */
export function processOwner(): Owner {
  self ??= { v: 1, host: hostIdentity(), pid: process.pid, started: startOf(process.pid) };
  return self;
}

/**
 * Whether the process of an owner still runs.
 *
 * `false` is certain and lets a claim be taken at once: the process is gone, is a zombie, or its pid belongs to a younger
 * process. `"unknown"` (another host, or a system that does not tell start times) means: wait for the expiry.
 */
export function isAlive(
  owner: Owner,
  here: Owner = processOwner(),
  probe: ProcessProbe = probeProcess,
): boolean | "unknown" {
  if (owner.host !== here.host) return "unknown";
  if (owner.pid === here.pid) {
    return owner.started === null || here.started === null ? "unknown" : owner.started === here.started;
  }
  const found = probe(owner.pid);
  if (found === "absent") return false;
  if (owner.started === null || found.started === null) return "unknown";
  return owner.started === found.started;
}

/** Whether two records name one process. Unknown start times never match: they may be two lives of one pid. */
export function sameOwner(a: Owner, b: Owner): boolean {
  return a.host === b.host && a.pid === b.pid && a.started !== null && a.started === b.started;
}

/** Validates an owner read from storage. @throws StateFormatError */
export function readOwner(value: unknown): Owner {
  const owner = value as Partial<Owner> | null | undefined;
  const sound =
    typeof owner === "object" &&
    owner !== null &&
    owner.v === 1 &&
    typeof owner.host === "string" &&
    Number.isInteger(owner.pid) &&
    (owner.started === null || typeof owner.started === "string");
  if (!sound)
    throw new StateFormatError({ channel: "owner", found: value, expected: "an owner of version 1" });
  return owner as Owner;
}

function hostIdentity(): string {
  const boot = readText("/proc/sys/kernel/random/boot_id");
  if (boot === undefined) return hostname();
  try {
    return `${boot}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Without the namespace, processes of two containers could not be told apart: no common host is the safe answer.
    return `${boot}/${hostname()}`;
  }
}

function startOf(pid: number): string | null {
  const found = probeProcess(pid);
  return found === "absent" ? null : found.started;
}

function probeProcess(pid: number): ReturnType<ProcessProbe> {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat !== undefined) {
    // The command name stands in parentheses and may contain anything: fields are counted behind the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const state = fields[0];
    return state === "Z" || state === "X" ? "absent" : { started: fields[19] ?? null };
  }
  try {
    process.kill(pid, 0);
    return { started: null };
  } catch (error) {
    // EPERM: there is a process, of another user.
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? "absent" : { started: null };
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
}

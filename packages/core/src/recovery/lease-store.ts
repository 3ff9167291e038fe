import type { Deps } from "../clock.ts";
import { StateFormatError } from "../errors.ts";
import type { Json } from "../json/json.ts";
import { isAlive, type Owner, processOwner, readOwner } from "../storage/owner.ts";
import type { RecordStore, StoredRecord } from "../storage/record-store.ts";
import { LeaseHeldError, LeaseLostError } from "./recovery-errors.ts";

/** The right to drive the run of one thread, as its holder has it. */
export interface Lease {
  readonly threadId: string;
  /** Fencing token: grows with each acquisition of the thread's lease, for ever. */
  readonly token: number;
  /** Milliseconds since 1970 until which it holds without a renewal. */
  readonly expiresAt: number;
  /** Version of its record; the next write needs it. */
  readonly version: number;
  /** Whose lease was taken over, when it had not been released. `dead`: the process is certainly gone. */
  readonly takenFrom?: { readonly owner: Owner; readonly dead: boolean } | undefined;
}

interface LeaseRecord {
  readonly v: 1;
  readonly token: number;
  /** null: released. */
  readonly owner: Owner | null;
  readonly expiresAt: number;
}

export interface LeaseStoreOptions {
  readonly owner?: Owner | undefined;
  readonly alive?: (owner: Owner) => boolean | "unknown";
}

/**
 * Leases with fencing tokens over compare-and-set records: two workers never hold the lease of one thread at once.
 *
 * A lease is free when it was released, when its time is over, or at once when its owner was a process of this host that is
 * gone. The record never expires and is never deleted with the lease, so that tokens never repeat.
 */
export class LeaseStore {
  readonly #records: RecordStore;
  readonly #deps: Deps;
  readonly #options: LeaseStoreOptions;

  constructor(records: RecordStore, deps: Deps, options: LeaseStoreOptions = {}) {
    this.#records = records;
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * Takes the lease of a thread for `ttlMs`. One read and one write.
   *
   * @throws LeaseHeldError when another worker holds it (another call in this process too)
   */
  async acquire(threadId: string, ttlMs: number): Promise<Lease> {
    for (;;) {
      const stored = await this.#records.get(keyOf(threadId));
      const current = stored && readLease(stored);
      const now = this.#deps.clock.now();
      const held = current?.owner && current.expiresAt > now;
      const dead = held && this.#alive(current.owner) === false;
      if (held && !dead) {
        throw new LeaseHeldError({ threadId, owner: current.owner, expiresAt: current.expiresAt });
      }
      const next: LeaseRecord = {
        v: 1,
        token: (current?.token ?? 0) + 1,
        owner: this.#owner(),
        expiresAt: now + ttlMs,
      };
      const written = await this.#write(threadId, stored?.version ?? null, next);
      if (written === undefined) continue;
      return {
        threadId,
        token: next.token,
        expiresAt: next.expiresAt,
        version: written,
        ...(current?.owner ? { takenFrom: { owner: current.owner, dead: dead === true } } : {}),
      };
    }
  }

  /** Extends a lease to `ttlMs` from now. @throws LeaseLostError when somebody else took it */
  async renew(lease: Lease, ttlMs: number): Promise<Lease> {
    const expiresAt = this.#deps.clock.now() + ttlMs;
    const next: LeaseRecord = { v: 1, token: lease.token, owner: this.#owner(), expiresAt };
    const version = await this.#write(lease.threadId, lease.version, next);
    if (version !== undefined) return { ...lease, expiresAt, version };
    // A renewal whose answer was lost has been written all the same: the token says whether the lease is still ours.
    const stored = await this.#records.get(keyOf(lease.threadId));
    const current = stored && readLease(stored);
    if (stored && current?.owner && current.token === lease.token) {
      return { ...lease, expiresAt: current.expiresAt, version: stored.version };
    }
    throw new LeaseLostError({ threadId: lease.threadId, token: lease.token });
  }

  /** Gives a lease back. Does nothing when it was lost. */
  async release(lease: Lease): Promise<void> {
    await this.#write(lease.threadId, lease.version, { v: 1, token: lease.token, owner: null, expiresAt: 0 });
  }

  /** Who holds the lease of a thread now. */
  async holder(
    threadId: string,
  ): Promise<{ readonly owner: Owner; readonly token: number; readonly expiresAt: number } | undefined> {
    const stored = await this.#records.get(keyOf(threadId));
    const current = stored && readLease(stored);
    if (!current?.owner || current.expiresAt <= this.#deps.clock.now()) return undefined;
    return { owner: current.owner, token: current.token, expiresAt: current.expiresAt };
  }

  async #write(threadId: string, version: number | null, record: LeaseRecord): Promise<number | undefined> {
    const result = await this.#records.compareAndSet(keyOf(threadId), version, record as unknown as Json);
    return result.ok ? result.version : undefined;
  }

  #owner(): Owner {
    return this.#options.owner ?? processOwner();
  }

  #alive(owner: Owner): boolean | "unknown" {
    return (this.#options.alive ?? isAlive)(owner);
  }
}

function keyOf(threadId: string) {
  return { collection: "leases", thread: threadId, key: "run" };
}

function readLease(stored: StoredRecord): LeaseRecord {
  const value = stored.value as Partial<LeaseRecord> | null;
  const sound =
    typeof value === "object" &&
    value?.v === 1 &&
    Number.isInteger(value.token) &&
    typeof value.expiresAt === "number" &&
    value.owner !== undefined;
  if (!sound) {
    throw new StateFormatError({ channel: "leases", found: stored.value, expected: "a lease of version 1" });
  }
  if (value.owner) readOwner(value.owner);
  return value as LeaseRecord;
}

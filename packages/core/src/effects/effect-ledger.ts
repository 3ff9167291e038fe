import type { Deps } from "../clock.ts";
import { StateFormatError } from "../errors.ts";
import type { Json } from "../json/json.ts";
import { isAlive, type Owner, processOwner } from "../storage/owner.ts";
import type { RecordKey, RecordStore } from "../storage/record-store.ts";
import { EffectConflictError, EffectLedgerError, EffectStateError } from "./effect-errors.ts";
import { type EffectRecord, readEffectRecord } from "./effect-record.ts";
import { EffectRun } from "./effect-run.ts";

/** What is claimed. */
export interface ClaimRequest {
  readonly thread: string;
  readonly key: string;
  readonly payload: string;
  readonly tool: string;
  readonly args: Json;
  readonly proposed?: Json | undefined;
  /** Id of the call, and the root graph's checkpoint from which it runs; kept with the claim. */
  readonly callId?: string | undefined;
  readonly from?: string | undefined;
  /** Equal calls of other turns start with this; while one of them is open, this call is held. @default none looked for */
  readonly equals?: string | undefined;
  /** Milliseconds since 1970 after which the record may go. @default never */
  readonly expiresAt?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type Claim =
  | { readonly status: "run"; readonly run: EffectRun }
  | { readonly status: "committed"; readonly key: string; readonly record: EffectRecord }
  /** `key` may be that of an equal call. */
  | { readonly status: "unknown"; readonly key: string; readonly record: EffectRecord }
  /** Somebody else ran it while we waited, and it failed before its effect. */
  | { readonly status: "failed"; readonly key: string; readonly record: EffectRecord }
  | { readonly status: "in-progress"; readonly key: string; readonly record: EffectRecord };

export interface LedgerOptions {
  /** Milliseconds that a claim lasts without a sign of life. @default 30,000 */
  readonly leaseMs?: number | undefined;
  /** Milliseconds between signs of life; each is one write. @default 10,000 */
  readonly heartbeatMs?: number | undefined;
  /** Milliseconds that a duplicate waits for the one that runs. @default 60,000 */
  readonly waitMs?: number | undefined;
  /** @default this process */
  readonly owner?: Owner | undefined;
  /** Whether an owner lives; for tests. @default asks the system */
  readonly alive?: ((owner: Owner) => boolean | "unknown") | undefined;
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Which effects happened, kept outside the graph's state because a crash loses a superstep's writes but not the world's.
 *
 * A claim is one compare-and-set, so of any number of callers, in any number of processes on one storage, one runs.
 * Claims and outcomes are written durably. Cost of an effect: two reads, a listing of equal calls, two durable writes.
 *
 * A storage that fails makes `claim` throw `EffectLedgerError`: nothing runs unrecorded.
 */
export class EffectLedger {
  readonly records: RecordStore;
  readonly deps: Deps;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly waitMs: number;
  readonly owner: Owner;
  readonly #alive: (owner: Owner) => boolean | "unknown";

  constructor(records: RecordStore, deps: Deps, options: LedgerOptions = {}) {
    this.records = records;
    this.deps = deps;
    this.leaseMs = options.leaseMs ?? 30_000;
    this.heartbeatMs = options.heartbeatMs ?? 10_000;
    this.waitMs = options.waitMs ?? 60_000;
    this.owner = options.owner ?? processOwner();
    this.#alive = options.alive ?? ((owner) => isAlive(owner, this.owner));
  }

  /** Asks to run a call. @throws EffectConflictError, EffectLedgerError, and the signal's reason while waiting */
  async claim(request: ClaimRequest): Promise<Claim> {
    const until = this.deps.clock.monotonic() + this.waitMs;
    let watched: number | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const step = await this.#guarded(request.key, () => this.#tryClaim(request, watched));
      if (step.status === "again") continue;
      if (step.status !== "in-progress") return step;
      if (this.deps.clock.monotonic() >= until) return step;
      watched = step.record.attempt;
      await this.deps.clock.sleep(pause, { signal: request.signal });
    }
  }

  /** Takes an unknown effect to run it again under its own key; undefined when it is not unknown any more. */
  async reclaim(thread: string, key: string): Promise<EffectRun | undefined> {
    return this.#guarded(key, async () => {
      const found = await this.#find(thread, key);
      if (found?.record.state !== "unknown") return undefined;
      return this.#take(addressOf(thread, key), found.version, found.record, found.expiresAt);
    });
  }

  async read(thread: string, key: string): Promise<EffectRecord | undefined> {
    return (await this.#find(thread, key))?.record;
  }

  /** How often a thread id was deleted: keys of the thread that had the id before are not those of its next one. */
  async generationOf(thread: string): Promise<number> {
    return this.#guarded(thread, async () => {
      const stored = await this.records.get({ collection: "generations", thread: "", key: thread });
      if (!stored) return 0;
      const { v, generation } = stored.value as { v?: unknown; generation?: unknown };
      if (v !== 1 || typeof generation !== "number")
        throw new StateFormatError({
          channel: "generations",
          found: stored.value,
          expected: "a generation of version 1",
        });
      return generation;
    });
  }

  /** Keeps the progress of a call that nobody needs to claim. */
  async park(request: ClaimRequest, progress: Json): Promise<void> {
    for (;;) {
      const found = await this.#find(request.thread, request.key);
      const record: EffectRecord = {
        ...(found?.record ?? this.#first(request)),
        state: "suspended",
        progress,
        updatedAt: this.deps.clock.now(),
      };
      const address = addressOf(request.thread, request.key);
      if (await this.#write(address, found?.version ?? null, record, request.expiresAt, false)) return;
    }
  }

  async forget(thread: string, key: string): Promise<void> {
    await this.records.delete(addressOf(thread, key));
  }

  /** Effects of a thread in key order. */
  async *list(thread: string, prefix = ""): AsyncIterable<{ key: string; record: EffectRecord }> {
    for await (const stored of this.records.list("effects", thread, prefix)) {
      yield { key: stored.key.key, record: readEffectRecord(stored.value) };
    }
  }

  /** Thread of an effect that became unknown, by its key alone. */
  async threadOf(key: string): Promise<string | undefined> {
    const stored = await this.records.get(openAddressOf(key));
    const value = stored?.value as { thread?: unknown } | null | undefined;
    return typeof value?.thread === "string" ? value.thread : undefined;
  }

  /**
   * Settles an effect whose outcome is unknown. Settling it the same way twice changes nothing.
   * @throws EffectStateError when it is running, or settled the other way.
   */
  async resolve(
    thread: string,
    key: string,
    outcome: "done" | "absent" | "unknown",
    options: { readonly value?: Json | undefined; readonly asked?: EffectRecord["asked"] | undefined } = {},
  ): Promise<EffectRecord> {
    for (;;) {
      const found = await this.#find(thread, key);
      if (!found) throw new EffectStateError({ key, state: "absent", expected: "unknown" });
      const { record } = found;
      const settled = { done: "committed", absent: "failed", unknown: "unknown" } as const;
      if (record.state === settled[outcome] && outcome !== "unknown") return record;
      if (record.state !== "unknown" && !this.#lost(record))
        throw new EffectStateError({ key, state: record.state, expected: "unknown" });
      const next: EffectRecord = {
        ...record,
        state: settled[outcome],
        updatedAt: this.deps.clock.now(),
        ...(options.asked ? { asked: options.asked } : {}),
        ...(outcome === "absent" ? { reason: "found not to have happened" } : {}),
        ...(outcome === "done" ? { outcome: { ok: true, value: options.value ?? null } } : {}),
      };
      const written = await this.#write(addressOf(thread, key), found.version, next, found.expiresAt, true);
      if (!written) continue;
      if (outcome !== "unknown") await this.records.delete(openAddressOf(key));
      return next;
    }
  }

  async #tryClaim(request: ClaimRequest, watched: number | undefined): Promise<Claim | { status: "again" }> {
    const { thread, key } = request;
    const found = await this.#find(thread, key);
    const record = found?.record;
    // Before anything is said about its state: another payload must not learn that the key is in use, nor wait for it.
    if (record && record.payload !== request.payload)
      throw new EffectConflictError({ key, tool: request.tool });
    if (record?.state === "committed") return { status: "committed", key, record };
    if (record?.state === "unknown") return { status: "unknown", key, record };
    if (found && record?.state === "claimed") {
      if (!this.#lost(record)) return { status: "in-progress", key, record };
      return this.#markLost(thread, key, found.version, record, found.expiresAt);
    }
    if (record?.state === "failed" && record.attempt === watched) return { status: "failed", key, record };
    const open = await this.#openEqual(request);
    if (open) return open;
    const run = await this.#take(
      addressOf(thread, key),
      found?.version ?? null,
      { ...(record ?? this.#first(request)), ...siteOf(request) },
      request.expiresAt,
    );
    return run ? { status: "run", run } : { status: "again" };
  }

  /** An equal call whose outcome nobody knows holds this one back, whatever its turn. */
  async #openEqual(request: ClaimRequest): Promise<Claim | { status: "again" } | undefined> {
    if (request.equals === undefined) return undefined;
    for await (const stored of this.records.list("effects", request.thread, request.equals)) {
      const key = stored.key.key;
      const record = readEffectRecord(stored.value);
      if (key === request.key || record.payload !== request.payload) continue;
      if (record.state === "unknown") return { status: "unknown", key, record };
      if (this.#lost(record))
        return this.#markLost(request.thread, key, stored.version, record, stored.expiresAt);
    }
    return undefined;
  }

  #lost(record: EffectRecord): boolean {
    if (record.state !== "claimed") return false;
    return this.#alive(record.owner) === false || record.leaseUntil <= this.deps.clock.now();
  }

  async #markLost(
    thread: string,
    key: string,
    version: number,
    record: EffectRecord,
    expiresAt: number | undefined,
  ): Promise<Claim | { status: "again" }> {
    const next: EffectRecord = {
      ...record,
      state: "unknown",
      reason: "the process that ran it ended before it could record the outcome",
      updatedAt: this.deps.clock.now(),
    };
    const written = await this.#write(addressOf(thread, key), version, next, expiresAt, true);
    return written ? { status: "unknown", key, record: next } : { status: "again" };
  }

  async #take(
    address: RecordKey,
    version: number | null,
    record: EffectRecord,
    expiresAt: number | undefined,
  ): Promise<EffectRun | undefined> {
    const now = this.deps.clock.now();
    const { reason: _reason, ...rest } = record;
    const claimed: EffectRecord = {
      ...rest,
      state: "claimed",
      // A suspended run goes on; all others begin anew.
      attempt: record.state === "suspended" ? record.attempt : record.attempt + 1,
      token: this.deps.newId(),
      owner: this.owner,
      leaseUntil: now + this.leaseMs,
      updatedAt: now,
    };
    if (!(await this.#write(address, version, claimed, expiresAt, true))) return undefined;
    return new EffectRun(this, address, claimed, expiresAt);
  }

  #first(request: ClaimRequest): EffectRecord {
    const now = this.deps.clock.now();
    return {
      v: 1,
      state: "failed",
      tool: request.tool,
      payload: request.payload,
      args: request.args,
      ...(request.proposed === undefined ? {} : { proposed: request.proposed }),
      attempt: 0,
      token: "",
      owner: this.owner,
      leaseUntil: now,
      createdAt: now,
      updatedAt: now,
    };
  }

  async #find(
    thread: string,
    key: string,
  ): Promise<{ version: number; record: EffectRecord; expiresAt: number | undefined } | undefined> {
    const stored = await this.records.get(addressOf(thread, key));
    return (
      stored && {
        version: stored.version,
        record: readEffectRecord(stored.value),
        expiresAt: stored.expiresAt,
      }
    );
  }

  async #write(
    address: RecordKey,
    version: number | null,
    record: EffectRecord,
    expiresAt: number | undefined,
    durable: boolean,
  ): Promise<boolean> {
    // An unknown effect is settled by people who have only its key: where it lives is written first.
    if (record.state === "unknown") await this.noteOpen(address);
    const result = await this.records.compareAndSet(address, version, record as unknown as Json, {
      durable,
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
    return result.ok;
  }

  /** @internal */
  async noteOpen(address: RecordKey): Promise<void> {
    await this.records.compareAndSet(openAddressOf(address.key), null, { v: 1, thread: address.thread });
  }

  async #guarded<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (EffectConflictError.isInstance(cause)) throw cause;
      throw new EffectLedgerError({ key, cause });
    }
  }
}

function siteOf({ callId, from }: ClaimRequest): Pick<EffectRecord, "callId" | "from"> {
  return { ...(callId === undefined ? {} : { callId }), ...(from === undefined ? {} : { from }) };
}

function addressOf(thread: string, key: string): RecordKey {
  return { collection: "effects", thread, key };
}

/** Index of open effects: their thread by key. */
function openAddressOf(key: string): RecordKey {
  return { collection: "effects", thread: "", key: `open:${key}` };
}

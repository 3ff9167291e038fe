import type { Json } from "../json/json.ts";
import type { RecordKey } from "../storage/record-store.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import { type EffectRecord, readEffectRecord, type StoredOutcome } from "./effect-record.ts";

const WRITE_TRIES = 3;
const WRITE_PAUSE_MS = 50;
/** Told to the heartbeat alone: an error would be made, with its stack, for each effect. */
const ENDED = Symbol("ended");

/**
 * A claim that we hold: one run of one tool. Its token, not its state, gives the right to write: whoever ran the tool knows
 * the outcome better than a reader who took the lease for lost.
 */
export class EffectRun {
  readonly key: string;
  readonly thread: string;
  readonly attempt: number;
  readonly record: EffectRecord;
  #progress: Json | undefined;
  readonly #ledger: EffectLedger;
  readonly #address: RecordKey;
  readonly #expiresAt: number | undefined;
  readonly #ended = new AbortController();

  constructor(ledger: EffectLedger, address: RecordKey, record: EffectRecord, expiresAt: number | undefined) {
    this.#ledger = ledger;
    this.#address = address;
    this.#expiresAt = expiresAt;
    this.key = address.key;
    this.thread = address.thread;
    this.attempt = record.attempt;
    this.record = record;
    this.#progress = record.progress;
    void this.#beat();
  }

  /** What the tool saved last, in this run or before a crash. */
  get progress(): Json | undefined {
    return this.#progress;
  }

  /** Durable. Resolves to false when somebody settled and took the effect meanwhile. */
  commit(outcome: StoredOutcome): Promise<boolean> {
    return this.#end((record) => without({ ...record, state: "committed", outcome }, "reason"), true);
  }

  /** It surely did not happen. */
  fail(reason: string): Promise<boolean> {
    return this.#end((record) => ({ ...record, state: "failed", reason }), false);
  }

  unknown(reason: string): Promise<boolean> {
    return this.#end((record) => ({ ...record, state: "unknown", reason }), true);
  }

  /** The tool waits for a human and will run from its top again. */
  suspend(): Promise<boolean> {
    return this.#end((record) => ({ ...record, state: "suspended" }), true);
  }

  /** Survives a crash of the process when it resolves. Counts as a sign of life. */
  async saveProgress(progress: Json): Promise<void> {
    // Through JSON: what comes back after a crash must be what comes back without one.
    const copy = JSON.parse(JSON.stringify(progress)) as Json;
    await this.#update(
      (record) => ({ ...record, progress: copy, leaseUntil: this.#now() + this.#ledger.leaseMs }),
      true,
    );
    this.#progress = copy;
  }

  #now(): number {
    return this.#ledger.deps.clock.now();
  }

  async #beat(): Promise<void> {
    const { clock } = this.#ledger.deps;
    const { signal } = this.#ended;
    for (;;) {
      try {
        await clock.sleep(this.#ledger.heartbeatMs, { signal, unref: true });
      } catch {
        return;
      }
      try {
        const held = await this.#update(
          (record) => ({ ...record, leaseUntil: this.#now() + this.#ledger.leaseMs }),
          false,
        );
        if (!held) return;
      } catch {
        // The next beat tries again; a lease that lapses meanwhile means "unknown", never "run again".
      }
    }
  }

  async #end(next: (record: EffectRecord) => EffectRecord, durable: boolean): Promise<boolean> {
    this.#ended.abort(ENDED);
    for (let tries = 1; ; tries++) {
      try {
        return await this.#update(next, durable);
      } catch (error) {
        if (tries >= WRITE_TRIES) throw error;
        await this.#ledger.deps.clock.sleep(WRITE_PAUSE_MS * tries);
      }
    }
  }

  /** False when the claim is not ours any more. */
  async #update(next: (record: EffectRecord) => EffectRecord, durable: boolean): Promise<boolean> {
    const { records } = this.#ledger;
    for (;;) {
      const stored = await records.get(this.#address);
      const record = stored && readEffectRecord(stored.value);
      const ours = record?.token === this.record.token && OPEN.has(record.state);
      if (!stored || !ours) return false;
      const value: EffectRecord = { ...next(record), updatedAt: this.#now() };
      if (value.state === "unknown") await this.#ledger.noteOpen(this.#address);
      const result = await records.compareAndSet(this.#address, stored.version, value as unknown as Json, {
        durable,
        ...(this.#expiresAt === undefined ? {} : { expiresAt: this.#expiresAt }),
      });
      if (result.ok) return true;
    }
  }
}

/** Not suspended or failed: those ended by our own word. Unknown may be a reader's mistake about us. */
const OPEN: ReadonlySet<string> = new Set(["claimed", "unknown"]);

function without(record: EffectRecord, field: "reason"): EffectRecord {
  const { [field]: _dropped, ...rest } = record;
  return rest;
}

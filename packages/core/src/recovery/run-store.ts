import type { Deps } from "../clock.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import type { Json } from "../json/json.ts";
import type { RecordKey, RecordStore } from "../storage/record-store.ts";
import { LeaseLostError } from "./recovery-errors.ts";
import { isEnded, type RunRecord, readRunRecord } from "./run-record.ts";
import { readStopWish, type StopWish } from "./stop-request.ts";

/** A record with the version that its next write needs. */
export interface StoredRun {
  readonly record: RunRecord;
  readonly version: number;
}

/**
 * Run records: the current run of each thread, and the ended ones under their run id.
 *
 * Every write is a compare-and-set: a worker whose lease was taken over cannot overwrite what its successor knows.
 */
export class RunStore {
  readonly #records: RecordStore;
  readonly #deps: Deps;

  constructor(records: RecordStore, deps: Deps) {
    this.#records = records;
    this.#deps = deps;
  }

  /** The newest run of a thread. @throws StateFormatError when its record is damaged */
  async current(threadId: string): Promise<StoredRun | undefined> {
    const stored = await this.#records.get(currentKey(threadId));
    return stored && { record: readRunRecord(stored.value), version: stored.version };
  }

  /** Earlier runs of a thread, by run id. */
  async *history(threadId: string): AsyncIterable<RunRecord> {
    for await (const stored of this.#records.list("runs", threadId, PAST)) yield readRunRecord(stored.value);
  }

  /** Starts a run; the one before it goes to the history. @throws LeaseLostError when another worker wrote meanwhile */
  async begin(threadId: string, previous: StoredRun | undefined, record: RunRecord): Promise<StoredRun> {
    if (previous) await this.#archive(threadId, previous.record);
    return this.#write(threadId, previous?.version ?? null, record);
  }

  /** Changes the current run. @throws LeaseLostError as above */
  async update(threadId: string, run: StoredRun, change: Partial<RunRecord>): Promise<StoredRun> {
    const record: RunRecord = { ...run.record, ...change, updatedAt: this.#deps.clock.now() };
    return this.#write(threadId, run.version, record);
  }

  /** Leaves a wish for whoever drives the thread's run; see `requestStop`. Resolves to whether there is such a run. */
  async requestStop(threadId: string, wish: StopWish): Promise<boolean> {
    const run = await this.current(threadId);
    if (!run || isEnded(run.record) || run.record.status === "PAUSED") return false;
    for (;;) {
      const stored = await this.#records.get(wishKey(threadId));
      if (stored && readStopWish(stored) === "cancel") return true;
      const value = { v: 1, wish, at: this.#deps.clock.now() };
      const { ok } = await this.#records.compareAndSet(wishKey(threadId), stored?.version ?? null, value);
      if (ok) return true;
    }
  }

  async stopRequested(threadId: string): Promise<StopWish | undefined> {
    const stored = await this.#records.get(wishKey(threadId));
    return stored && readStopWish(stored);
  }

  /** The wish was heard, or was for a run that is over. */
  async clearStopRequest(threadId: string): Promise<void> {
    await this.#records.delete(wishKey(threadId));
  }

  async #archive(threadId: string, record: RunRecord): Promise<void> {
    // Its input is only of use while the run may have to start again.
    const past: RunRecord = { ...record, input: { ...record.input, stored: null } };
    // A record that is there already was archived by an admission that died before its own record was written.
    await this.#records.compareAndSet(
      { collection: "runs", thread: threadId, key: PAST + record.runId },
      null,
      plain(past),
    );
  }

  async #write(threadId: string, version: number | null, record: RunRecord): Promise<StoredRun> {
    const value = plain(record);
    const result = await this.#records.compareAndSet(currentKey(threadId), version, value);
    if (result.ok) return { record, version: result.version };
    // A write whose answer was lost has happened all the same.
    const { current } = result;
    if (current && canonicalJson(current.value) === canonicalJson(value)) {
      return { record, version: current.version };
    }
    throw new LeaseLostError({ threadId, token: record.token });
  }
}

const PAST = "past:";

function wishKey(threadId: string): RecordKey {
  return { collection: "runs", thread: threadId, key: "wish" };
}

function currentKey(threadId: string): RecordKey {
  return { collection: "runs", thread: threadId, key: "current" };
}

/** Drops `undefined` fields, which JSON storage cannot hold. */
function plain(record: RunRecord): Json {
  return JSON.parse(JSON.stringify(record)) as Json;
}

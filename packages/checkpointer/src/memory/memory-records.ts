import { randomInt } from "node:crypto";
import type { Clock, RecordKey } from "@longhaul/core";
import type { RecordRow, RecordTable, Row } from "../driver/driver.ts";
import { copyOf, idOf } from "./bytes.ts";

type Fields = Pick<RecordRow, "data" | "expiresAt">;

/** Records in a Map. Synchronous; what comes in and goes out is copied. */
export class MemoryRecords {
  readonly #now: () => number;
  /** By key, for each collection of a thread: what is listed costs as much as the thread has of the collection. */
  readonly #scopes = new Map<string, Map<string, RecordRow>>();

  constructor(clock: Pick<Clock, "now">) {
    this.#now = () => clock.now();
  }

  /** Expired or not. */
  row(key: RecordKey): RecordRow | undefined {
    return copyRow(this.#row(key));
  }

  get(key: RecordKey): RecordRow | undefined {
    const row = this.#row(key);
    return row && this.#isLive(row) ? copyRow(row) : undefined;
  }

  /** No version comes twice under a key: it grows while the row is there, and begins at random where there is none. */
  nextVersion(key: RecordKey): number {
    const row = this.#row(key);
    return row ? row.version + 1 : randomInt(1, 2 ** 40);
  }

  set(key: RecordKey, version: number, { data, expiresAt }: Fields): void {
    const name = idOf(key.collection, key.thread);
    const scope = this.#scopes.get(name) ?? new Map<string, RecordRow>();
    this.#scopes.set(name, scope);
    scope.set(key.key, { key: { ...key }, version, expiresAt, data: copyOf(data) });
  }

  remove(key: RecordKey): void {
    const name = idOf(key.collection, key.thread);
    const scope = this.#scopes.get(name);
    scope?.delete(key.key);
    if (scope?.size === 0) this.#scopes.delete(name);
  }

  /** In the order of the keys' bytes. */
  list(collection: string, thread: string, prefix: string): RecordRow[] {
    return [...(this.#scopes.get(idOf(collection, thread))?.values() ?? [])]
      .filter((row) => row.key.key.startsWith(prefix) && this.#isLive(row))
      .sort((a, b) => Buffer.compare(Buffer.from(a.key.key), Buffer.from(b.key.key)));
  }

  expired(thread: string): RecordKey[] {
    return this.#all()
      .filter((row) => row.key.thread === thread && !this.#isLive(row))
      .map((row) => row.key);
  }

  /** Leases stay: their tokens must not repeat. */
  forgetThread(thread: string): void {
    for (const { key } of this.#all())
      if (key.thread === thread && key.collection !== "leases") this.remove(key);
  }

  rows(thread: string | undefined): Row[] {
    return this.#all()
      .filter(({ key }) => thread === undefined || key.thread === thread)
      .map((row) => ({ kind: "record", ...row }));
  }

  #row({ collection, thread, key }: RecordKey): RecordRow | undefined {
    return this.#scopes.get(idOf(collection, thread))?.get(key);
  }

  #all(): RecordRow[] {
    return [...this.#scopes.values()].flatMap((scope) => [...scope.values()]);
  }

  #isLive(row: RecordRow): boolean {
    return row.expiresAt === undefined || row.expiresAt > this.#now();
  }
}

/** The port over records in memory; `open` throws when the driver is closed. */
export function recordTable(records: MemoryRecords, open: () => void): RecordTable {
  return {
    async get(key) {
      open();
      return records.get(key);
    },
    async compareAndSet(key, expected, row) {
      open();
      const current = records.get(key);
      if ((current?.version ?? null) !== expected) return { ok: false, current };
      const version = records.nextVersion(key);
      records.set(key, version, row);
      return { ok: true, version };
    },
    async delete(key, expected) {
      open();
      const current = records.get(key);
      if (!current || (expected !== undefined && current.version !== expected)) return false;
      records.remove(key);
      return true;
    },
    async *list(collection, thread, prefix) {
      open();
      for (const { key } of records.list(collection, thread, prefix)) {
        const row = records.get(key);
        if (row) yield row;
      }
    },
    async purge(thread) {
      open();
      const keys = records.expired(thread);
      for (const key of keys) records.remove(key);
      return keys.length;
    },
  };
}

function copyRow(row: RecordRow | undefined): RecordRow | undefined {
  return row && { ...row, key: { ...row.key }, data: copyOf(row.data) };
}

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { MemorySaver } from "@langchain/langgraph";
import type { Json, RecordKey, RecordStore, StoredRecord } from "@longhaul/core";

/** Stand-ins for a storage that outlives its process: whole files, one process at a time. */

function load<T>(path: string, empty: T): T {
  try {
    return deserialize(readFileSync(path)) as T;
  } catch {
    return empty;
  }
}

function save(path: string, value: unknown): void {
  writeFileSync(`${path}.new`, serialize(value));
  renameSync(`${path}.new`, path);
}

export function fileRecords(path: string): RecordStore {
  const records = load(path, new Map<string, StoredRecord>());
  const id = (key: RecordKey) => JSON.stringify([key.collection, key.thread, key.key]);
  return {
    get: async (key) => structuredClone(records.get(id(key))),
    async compareAndSet(key, expected, value, options) {
      const current = records.get(id(key));
      if ((current?.version ?? null) !== expected) return { ok: false, current: structuredClone(current) };
      const version = (current?.version ?? 0) + 1;
      records.set(id(key), {
        key,
        value: structuredClone(value) as Json,
        version,
        expiresAt: options?.expiresAt,
      });
      save(path, records);
      return { ok: true, version };
    },
    async delete(key) {
      const gone = records.delete(id(key));
      save(path, records);
      return gone;
    },
    async *list(collection, thread, prefix = "") {
      for (const record of records.values()) {
        const { key } = record;
        if (key.collection === collection && key.thread === thread && key.key.startsWith(prefix))
          yield structuredClone(record);
      }
    },
  };
}

export class FileSaver extends MemorySaver {
  readonly #path: string;

  constructor(path: string) {
    super();
    this.#path = path;
    Object.assign(this, load(path, {}));
  }

  override async put(...args: Parameters<MemorySaver["put"]>): ReturnType<MemorySaver["put"]> {
    const result = await super.put(...args);
    this.#save();
    return result;
  }

  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    await super.putWrites(...args);
    this.#save();
  }

  #save(): void {
    save(this.#path, { storage: this.storage, writes: this.writes });
  }
}

import { artifactRef } from "../artifacts/artifact-ref.ts";
import { type Deps, withSystemDeps } from "../clock.ts";
import type { Json } from "../json/json.ts";
import type { Artifact, ArtifactMeta, ArtifactStore } from "./artifact-store.ts";
import { createStorage, type LonghaulStorage } from "./longhaul-storage.ts";
import type {
  CompareAndSetResult,
  RecordKey,
  RecordStore,
  StoredRecord,
  WriteOptions,
} from "./record-store.ts";

/** Records in a Map. Values are copied in and out, so that a caller's later mutation changes nothing. */
export class MemoryRecordStore implements RecordStore {
  /** By key, for each collection of a thread: what is listed costs as much as the thread has of the collection. */
  readonly #scopes = new Map<string, Map<string, StoredRecord>>();
  readonly #now: () => number;
  #writes = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async get(key: RecordKey): Promise<StoredRecord | undefined> {
    return this.#read(key);
  }

  async compareAndSet(
    key: RecordKey,
    expected: number | null,
    value: Json,
    options: WriteOptions = {},
  ): Promise<CompareAndSetResult> {
    const current = this.#read(key);
    if ((current?.version ?? null) !== expected) return { ok: false, current };
    // One count for all records: no version comes twice, also after an expiry or a delete.
    const version = ++this.#writes;
    const name = scopeOf(key.collection, key.thread);
    const scope = this.#scopes.get(name) ?? new Map<string, StoredRecord>();
    this.#scopes.set(name, scope);
    scope.set(key.key, {
      key: { ...key },
      value: structuredClone(value),
      version,
      expiresAt: options.expiresAt,
    });
    return { ok: true, version };
  }

  async delete(key: RecordKey, expected?: number): Promise<boolean> {
    const current = this.#read(key);
    if (!current || (expected !== undefined && current.version !== expected)) return false;
    const name = scopeOf(key.collection, key.thread);
    const scope = this.#scopes.get(name);
    const isDeleted = scope?.delete(key.key) ?? false;
    if (scope?.size === 0) this.#scopes.delete(name);
    return isDeleted;
  }

  async *list(collection: string, thread: string, prefix = ""): AsyncIterable<StoredRecord> {
    const keys = [...(this.#scopes.get(scopeOf(collection, thread))?.keys() ?? [])]
      .filter((key) => key.startsWith(prefix))
      .sort();
    for (const key of keys) {
      const record = this.#read({ collection, thread, key });
      if (record) yield record;
    }
  }

  #read(key: RecordKey): StoredRecord | undefined {
    const record = this.#scopes.get(scopeOf(key.collection, key.thread))?.get(key.key);
    if (!record || (record.expiresAt !== undefined && record.expiresAt <= this.#now())) return undefined;
    return { ...record, value: structuredClone(record.value) };
  }
}

/** Artifacts in a Map. */
export class MemoryArtifactStore implements ArtifactStore {
  readonly #artifacts = new Map<string, Map<string, Artifact>>();

  async put(thread: string, content: string, meta: ArtifactMeta, ref?: string): Promise<string> {
    const name = ref ?? artifactRef(content);
    const ofThread = this.#artifacts.get(thread) ?? new Map<string, Artifact>();
    this.#artifacts.set(thread, ofThread);
    if (!ofThread.has(name)) ofThread.set(name, { ref: name, content, meta: { ...meta } });
    return name;
  }

  async get(thread: string, ref: string): Promise<Artifact | undefined> {
    return this.#artifacts.get(thread)?.get(ref);
  }

  async *list(thread: string): AsyncIterable<{ ref: string; meta: ArtifactMeta; chars: number }> {
    for (const { ref, meta, content } of this.#artifacts.get(thread)?.values() ?? []) {
      yield { ref, meta, chars: content.length };
    }
  }
}

/** Storage that lives as long as the process: for tests, and the default where none is given. */
export function memoryStorage(deps?: Partial<Deps>): LonghaulStorage {
  const full = withSystemDeps(deps);
  return createStorage({
    records: new MemoryRecordStore(full.clock.now),
    artifacts: new MemoryArtifactStore(),
    survivesProcess: false,
    deps: full,
  });
}

function scopeOf(collection: string, thread: string): string {
  return JSON.stringify([collection, thread]);
}

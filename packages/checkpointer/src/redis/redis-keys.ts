import { createHash } from "node:crypto";
import type { RecordKey } from "@longhaul/core";
import type { Send } from "./redis-connection.ts";

/** All keys of a thread have its hash in braces, so that a cluster keeps them on one node, where one transaction reaches them. */
export class RedisKeys {
  readonly meta: string;
  readonly heads: string;
  /** Heads by sequence. */
  readonly order: string;
  readonly values: string;
  readonly chunks: string;
  /** Names of the hashes of writes. */
  readonly writeKeys: string;
  readonly records: string;
  /** Records by collection and key. */
  readonly recordOrder: string;
  readonly artifacts: string;
  readonly artifactOrder: string;
  readonly #base: string;

  constructor(prefix: string, threadId: string) {
    const hash = createHash("sha256").update(threadId, "utf8").digest("hex").slice(0, 32);
    this.#base = `${prefix}:{${hash}}`;
    this.meta = `${this.#base}:meta`;
    this.heads = `${this.#base}:heads`;
    this.order = `${this.#base}:order`;
    this.values = `${this.#base}:values`;
    this.chunks = `${this.#base}:chunks`;
    this.writeKeys = `${this.#base}:write-keys`;
    this.records = `${this.#base}:records`;
    this.recordOrder = `${this.#base}:record-order`;
    this.artifacts = `${this.#base}:artifacts`;
    this.artifactOrder = `${this.#base}:artifact-order`;
  }

  writes(namespace: string, checkpointId: string): string {
    return `${this.#base}:writes:${idOf(namespace, checkpointId)}`;
  }
}

/** Parts of an address as one field. */
export function idOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

/** Sorts by collection, then key; no name has a NUL. */
export function recordMember({ collection, key }: Pick<RecordKey, "collection" | "key">): string {
  return `${collection}\0${key}`;
}

/** Under which thread's keys a record stands. The generation of a thread is beside what it outlives, so that one transaction reaches both. */
export function ownerOf(key: RecordKey): string {
  return key.collection === "generations" && key.thread === "" ? key.key : key.thread;
}

/**
 * Lists a thread that has no checkpoint yet, so that its rows are found; `threads` does not give it before it has one. Before the thread's first row: a
 * name without rows does no harm, rows without their name would never be found.
 */
export async function nameThread(send: Send, prefix: string, threadId: string): Promise<void> {
  if (threadId !== "") await send("ZADD", `${prefix}:threads`, "NX", "0", threadId);
}

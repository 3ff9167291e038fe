import type { HeadRow, Row, StorageDriver } from "../driver/driver.ts";
import { hashOf } from "../encoding/chunk.ts";
import { place } from "../encoding/place.ts";
import { parseTokens, referencesOf } from "../encoding/references.ts";
import { DamagedRecordError, type RecordPlace } from "../errors.ts";
import type { Codec } from "./codec.ts";
import type { Head } from "./head.ts";
import { placeOf } from "./reader.ts";

export interface VerifyProblem extends RecordPlace {
  readonly kind:
    | "damaged"
    | "wrong-content"
    | "missing-chunk"
    | "missing-value"
    | "missing-parent"
    | "back-end";
  readonly detail: string;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly checkpoints: number;
  readonly chunks: number;
  /** Rows of every kind that were read. */
  readonly rows: number;
  readonly problems: readonly VerifyProblem[];
}

/**
 * Reads every row once, unseals it, and follows every reference. Holds the hashes and addresses of one thread at a time in memory, never
 * the contents.
 */
export async function verifyStorage(
  driver: StorageDriver,
  codec: Codec,
  threadId?: string,
): Promise<VerifyReport> {
  const threads = new Map<string, ThreadCheck>();
  const problems: VerifyProblem[] = (await driver.check(threadId)).map((detail) => ({
    kind: "back-end",
    detail,
  }));
  let rows = 0;
  const all = driver.rows(threadId)[Symbol.asyncIterator]();
  for (;;) {
    let row: Row;
    try {
      const next = await all.next();
      if (next.done) break;
      row = next.value;
    } catch (error) {
      // a back end that cannot even give the rows
      if (!DamagedRecordError.isInstance(error)) throw error;
      problems.push({ kind: "damaged", ...error.place, detail: error.reason });
      break;
    }
    rows += 1;
    const id = row.kind === "record" ? row.key.thread : row.threadId;
    let check = threads.get(id);
    if (!check) {
      check = new ThreadCheck(id, codec);
      threads.set(id, check);
    }
    try {
      check.visit(row);
    } catch (error) {
      if (!DamagedRecordError.isInstance(error)) throw error;
      problems.push({ kind: "damaged", ...namesOf(row), ...error.place, detail: error.reason });
    }
  }
  let checkpoints = 0;
  let chunks = 0;
  for (const check of threads.values()) {
    checkpoints += check.heads.size;
    chunks += check.chunks.size;
    problems.push(...check.problems, ...check.missing());
  }
  return { ok: problems.length === 0, checkpoints, chunks, rows, problems };
}

class ThreadCheck {
  readonly problems: VerifyProblem[] = [];
  readonly heads = new Map<string, { readonly row: HeadRow; readonly values: readonly string[] }>();
  /** Hashes of the chunks that are there, sound or not. */
  readonly chunks = new Set<string>();
  readonly #values = new Set<string>();
  /** Who refers to a hash first. */
  readonly #wanted = new Map<string, RecordPlace>();
  readonly #threadId: string;
  readonly #codec: Codec;

  constructor(threadId: string, codec: Codec) {
    this.#threadId = threadId;
    this.#codec = codec;
  }

  visit(row: Row): void {
    const codec = this.#codec;
    switch (row.kind) {
      case "head": {
        // it is there, also when it cannot be read
        this.heads.set(idOf(row.namespace, row.checkpointId), {
          row: { ...row, data: new Uint8Array() },
          values: [],
        });
        const head: Head = codec.heads.read(codec.unseal(row.data, place.head(row, row.parentId)));
        const values = head.values.map((channel) =>
          valueIdOf(row.namespace, channel, String(head.versions[channel])),
        );
        this.heads.set(idOf(row.namespace, row.checkpointId), {
          row: { ...row, data: new Uint8Array() },
          values,
        });
        return;
      }
      case "value":
        this.#values.add(valueIdOf(row.namespace, row.channel, row.version));
        this.#refer(codec.unseal(row.data, place.value(row.threadId, row.namespace, row)), row);
        return;
      case "write":
        this.#refer(codec.unseal(row.data, place.write(row, row)), row);
        return;
      case "chunk": {
        this.chunks.add(row.hash);
        const text = codec.unseal(row.data, place.chunk(row.threadId, row.hash));
        // stronger than the checksum: the content must have the hash under which it stands
        if (hashOf(text) !== row.hash) {
          const detail = "the content has another hash";
          this.problems.push({ kind: "wrong-content", ...namesOf(row), detail });
        }
        this.#refer(text, row);
        return;
      }
      case "record":
        parse(codec.unseal(row.data, place.record(row.key, row.expiresAt)));
        return;
      case "artifact":
        parse(codec.unseal(row.meta, place.artifactMeta(row.threadId, row.ref, row.chars)));
        parse(codec.unseal(row.data, place.artifact(row.threadId, row.ref)));
    }
  }

  *missing(): Iterable<VerifyProblem> {
    for (const { row, values } of this.heads.values()) {
      if (row.parentId !== undefined && !this.heads.has(idOf(row.namespace, row.parentId)))
        yield { kind: "missing-parent", ...placeOf(row), detail: `parent ${row.parentId} is not stored` };
      for (const value of values) {
        if (this.#values.has(value)) continue;
        const [, channel, version] = JSON.parse(value) as [string, string, string];
        yield {
          kind: "missing-value",
          ...placeOf(row),
          channel,
          detail: `its value at version ${version} is not stored`,
        };
      }
    }
    for (const [hash, by] of this.#wanted)
      if (!this.chunks.has(hash))
        yield {
          kind: "missing-chunk",
          threadId: this.#threadId,
          ...by,
          detail: `chunk ${hash} is not stored`,
        };
  }

  #refer(text: string, row: Row): void {
    for (const hash of referencesOf(parseTokens(text)))
      if (!this.#wanted.has(hash)) this.#wanted.set(hash, namesOf(row));
  }
}

function namesOf(row: Row): RecordPlace {
  switch (row.kind) {
    case "head":
      return placeOf(row);
    case "value":
      return {
        threadId: row.threadId,
        namespace: row.namespace,
        channel: row.channel,
        record: `version ${row.version}`,
      };
    case "write":
      return { ...placeOf(row), channel: row.channel, record: `write of task ${row.taskId}` };
    case "chunk":
      return { threadId: row.threadId, record: `chunk ${row.hash}` };
    case "record":
      return { threadId: row.key.thread, record: `${row.key.collection}/${row.key.key}` };
    case "artifact":
      return { threadId: row.threadId, record: `artifact ${row.ref}` };
  }
}

function parse(text: string): void {
  try {
    JSON.parse(text);
  } catch (cause) {
    throw new DamagedRecordError({ reason: "its text is not JSON", cause });
  }
}

function idOf(namespace: string, checkpointId: string): string {
  return JSON.stringify([namespace, checkpointId]);
}

function valueIdOf(namespace: string, channel: string, version: string): string {
  return JSON.stringify([namespace, channel, version]);
}

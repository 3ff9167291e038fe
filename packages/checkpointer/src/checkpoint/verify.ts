import type { StorageDriver } from "../driver/driver.ts";
import { hashOf } from "../encoding/chunk.ts";
import { unseal } from "../encoding/envelope.ts";
import { DamagedRecordError, type RecordPlace } from "../errors.ts";
import { placeOf, type Reader } from "./reader.ts";

export interface VerifyProblem extends RecordPlace {
  readonly kind: "damaged" | "missing-parent" | "wrong-content";
  readonly detail: string;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly checkpoints: number;
  readonly chunks: number;
  readonly problems: readonly VerifyProblem[];
}

const CHUNKS_AT_ONCE = 200;

export async function verifyStorage(
  driver: StorageDriver,
  reader: Reader,
  threadId?: string,
): Promise<VerifyReport> {
  const problems: VerifyProblem[] = [];
  const addresses = await driver.addresses({ threadId });
  const ids = new Set(addresses.map((address) => JSON.stringify(address)));
  for (const address of addresses) {
    const row = await driver.head(address.threadId, address.namespace, address.checkpointId);
    if (!row) continue;
    if (row.parentId !== undefined && !ids.has(JSON.stringify({ ...address, checkpointId: row.parentId }))) {
      problems.push({
        kind: "missing-parent",
        ...placeOf(row),
        detail: `parent ${row.parentId} is not stored`,
      });
    }
    await reader.tuple(row).catch((error: unknown) => problems.push(problemOf(error)));
  }
  let chunks = 0;
  for (const thread of new Set(addresses.map((address) => address.threadId))) {
    let batch: string[] = [];
    for await (const hash of driver.chunkHashes(thread)) {
      chunks += 1;
      batch.push(hash);
      if (batch.length === CHUNKS_AT_ONCE) {
        problems.push(...(await wrongChunks(driver, thread, batch)));
        batch = [];
      }
    }
    problems.push(...(await wrongChunks(driver, thread, batch)));
  }
  return { ok: problems.length === 0, checkpoints: addresses.length, chunks, problems };
}

/** Stronger than the checksum: the content must have the hash under which it stands. */
async function wrongChunks(
  driver: StorageDriver,
  threadId: string,
  hashes: readonly string[],
): Promise<VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  for (const [hash, data] of await driver.chunks(threadId, hashes)) {
    const record = `chunk ${hash}`;
    try {
      if (hashOf(unseal(data)) === hash) continue;
      problems.push({ kind: "wrong-content", threadId, record, detail: "the content has another hash" });
    } catch (error) {
      problems.push({ ...problemOf(error), threadId, record });
    }
  }
  return problems;
}

function problemOf(error: unknown): VerifyProblem {
  if (!DamagedRecordError.isInstance(error)) throw error;
  return { kind: "damaged", ...error.place, detail: error.reason };
}

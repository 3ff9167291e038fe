import type { StorageDriver } from "../driver/driver.ts";
import { rawSizeOf } from "../encoding/sealer.ts";

export interface SaverStats {
  readonly checkpoints: number;
  /** Distinct elements and long strings. */
  readonly chunks: number;
  readonly values: number;
  readonly writes: number;
  /** Bytes of the stored texts before packing, each counted once. */
  readonly rawBytes: number;
  /** Bytes of the same as stored, without the back end's own overhead. */
  readonly storedBytes: number;
  /** `rawBytes / storedBytes`; 1 when nothing is stored. */
  readonly ratio: number;
}

export async function collectStats(driver: StorageDriver, threadId?: string): Promise<SaverStats> {
  const count = { head: 0, chunk: 0, value: 0, write: 0 };
  let rawBytes = 0;
  let storedBytes = 0;
  for await (const { kind, data } of driver.rows(threadId, ["head", "value", "write", "chunk"])) {
    if (kind === "record" || kind === "artifact") continue;
    count[kind] += 1;
    rawBytes += rawSizeOf(data);
    storedBytes += data.length;
  }
  return {
    checkpoints: count.head,
    chunks: count.chunk,
    values: count.value,
    writes: count.write,
    rawBytes,
    storedBytes,
    ratio: storedBytes === 0 ? 1 : rawBytes / storedBytes,
  };
}

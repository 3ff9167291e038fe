import type { RecordKey } from "@longhaul/core";
import type { HeadAddress, ValueKey, WriteRow } from "../driver/driver.ts";

/**
 * Where a sealed text stands, as one text. Checksums and encryption are bound to it, so a row that was moved or whose address was damaged
 * is noticed. Part of the stored format: never change what is here.
 */
export type Place = string;

export const place = {
  head: ({ threadId, namespace, checkpointId }: HeadAddress, parentId: string | undefined): Place =>
    JSON.stringify(["head", threadId, namespace, checkpointId, parentId ?? null]),
  value: (threadId: string, namespace: string, { channel, version }: ValueKey): Place =>
    JSON.stringify(["value", threadId, namespace, channel, version]),
  write: ({ threadId, namespace, checkpointId }: HeadAddress, row: Omit<WriteRow, "data">): Place =>
    JSON.stringify([
      "write",
      threadId,
      namespace,
      checkpointId,
      row.taskId,
      row.index,
      row.taskPath,
      row.channel,
    ]),
  chunk: (threadId: string, hash: string): Place => JSON.stringify(["chunk", threadId, hash]),
  record: ({ collection, thread, key }: RecordKey, expiresAt: number | undefined): Place =>
    JSON.stringify(["record", collection, thread, key, expiresAt ?? null]),
  artifactMeta: (threadId: string, ref: string, chars: number): Place =>
    JSON.stringify(["artifact-meta", threadId, ref, chars]),
  artifact: (threadId: string, ref: string): Place => JSON.stringify(["artifact", threadId, ref]),
};

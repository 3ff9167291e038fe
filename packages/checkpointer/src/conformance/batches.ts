import type { Batch, Row, StorageDriver, WriteRow } from "../driver/driver.ts";
import { bytes, text } from "./driver-fixture.ts";
import { toArray } from "./runner.ts";

const EMPTY = { era: undefined, chunks: [], values: [], isSame: () => false } as const;

export function batch(fields: Partial<Batch>): Batch {
  return { threadId: "t", namespace: "", ...EMPTY, ...fields };
}

export function head(checkpointId: string, parentId?: string): NonNullable<Batch["head"]> {
  return { checkpointId, parentId, data: bytes(`head ${checkpointId}`) };
}

export function write(taskId: string, index: number, data: string, channel = "messages"): WriteRow {
  return { taskId, index, taskPath: "path", channel, data: bytes(data) };
}

export async function ids(
  driver: StorageDriver,
  query: Parameters<StorageDriver["heads"]>[0] = { threadId: "t" },
) {
  return (await toArray(driver.heads(query))).map((row) => row.checkpointId);
}

export async function textsOf(driver: StorageDriver, checkpointId = "c1"): Promise<string[]> {
  const rows = await driver.writes({ threadId: "t", namespace: "", checkpointId });
  return rows
    .map((row) => `${row.taskId}/${row.index}/${row.taskPath}/${row.channel}/${text(row.data)}`)
    .sort();
}

export function hashText(n: number): string {
  return Buffer.from(String(n).padStart(16, "0")).toString("base64url");
}

export function countByKind(rows: readonly Row[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of rows) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

import type { Row, StorageDriver } from "@longhaul/checkpointer";

/** Stores exactly these rows of thread `t`, namespace `""`, through the port. */
export async function loadRows(driver: StorageDriver, rows: readonly Row[]): Promise<void> {
  const of = <K extends Row["kind"]>(kind: K) =>
    rows.filter((row): row is Extract<Row, { kind: K }> => row.kind === kind);
  const base = { threadId: "t", namespace: "", era: undefined, isSame: () => false };
  const none = { chunks: [], values: [] };
  await driver.commit({ ...base, chunks: of("chunk"), values: of("value") });
  for (const head of of("head").sort((a, b) => a.sequence - b.sequence))
    await driver.commit({ ...base, ...none, head });
  for (const row of of("write"))
    await driver.commit({ ...base, ...none, writes: { checkpointId: row.checkpointId, rows: [row] } });
  for (const { key, data, expiresAt } of of("record"))
    await driver.records.compareAndSet(key, null, { data, expiresAt }, false);
  for (const row of of("artifact")) await driver.artifacts.put("t", row);
}

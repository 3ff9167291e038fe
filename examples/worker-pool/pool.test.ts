import pg from "pg";
import { expect, it } from "vitest";
import { DATABASE } from "./database.ts";
import { runPool } from "./pool.ts";

const hasServer = await answers(DATABASE);

it.skipIf(!hasServer)(
  "all jobs end and each deed is done once, though workers are killed",
  async () => {
    const report = await runPool({ url: DATABASE, workers: 3, jobs: 8, kills: 3, seed: 2 });
    expect(report.endings).toEqual({ "COMPLETED final_answer": 8 });
    expect(report.duplicates).toEqual([]);
    expect(report.losses).toEqual([]);
    expect(report.kills).toBeGreaterThan(0);
  },
  120_000,
);

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

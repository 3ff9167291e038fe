import { expect, it } from "vitest";
import { contend } from "./contend.ts";

/** A sample of `npx tsx bench/contention-saver.ts`. */
it("C14: three processes on one new SQLite file, ten runs each: no lock error, no lost write", async () => {
  const report = await contend(3, 10);
  expect(report.wrong).toEqual([]);
  expect(report.calls).toBeGreaterThanOrEqual(3 * 10 * 12);
}, 120_000);

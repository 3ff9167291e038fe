import { expect, it } from "vitest";
import { answers } from "../saver/stores.ts";
import { crashPointsOf, FILE_POINTS } from "./crash-points.ts";
import { runKills } from "./kills.ts";
import { SERVERS, type Storage } from "./stores.ts";

/** A sample of `npx tsx bench/crash-saver.ts`: from outside and at named points in turns. */
const sample = async (storage: Storage, kills = 6, points = crashPointsOf(storage)) => {
  const report = await runKills({ storage, kills, points, seed: 11 });
  expect(report.wrong).toEqual([]);
  expect(report.acknowledged).toBeGreaterThan(100);
  return report;
};

it(
  "C10: nothing acknowledged is lost on SQLite, and all is sound, after six kills",
  () => sample("sqlite"),
  120_000,
);
it("C10: the same in a folder of journals, at each point within a write", async () => {
  const { byPoint } = await sample("file", 2 * FILE_POINTS.length, FILE_POINTS);
  for (const point of FILE_POINTS) expect(byPoint.get(point)).toBeGreaterThan(0);
}, 240_000);
for (const [name, storage] of [
  ["Postgres", "postgres"],
  ["Redis", "redis"],
] as const)
  it.skipIf(!(await answers(SERVERS[storage])))(`C10: the same on ${name}`, () => sample(storage), 120_000);

import { expect, it } from "vitest";
import { answers } from "../saver/stores.ts";
import { runKills } from "./kills.ts";

const POSTGRES = process.env.TEST_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/postgres";

/** A sample of `npx tsx bench/crash-saver.ts`: from outside and at named points in turns. */
const sample = async (storage: "sqlite" | "file" | "postgres") => {
  const report = await runKills({ storage, kills: 6, seed: 11, postgres: POSTGRES });
  expect(report.wrong).toEqual([]);
  expect(report.acknowledged).toBeGreaterThan(100);
};

it(
  "C10: nothing acknowledged is lost on SQLite, and all is sound, after six kills",
  () => sample("sqlite"),
  120_000,
);
it("C10: the same in a folder of journals", () => sample("file"), 120_000);
it.skipIf(!(await answers(POSTGRES)))("C10: the same on Postgres", () => sample("postgres"), 120_000);

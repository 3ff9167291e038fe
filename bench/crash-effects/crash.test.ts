import { describe, expect, it } from "vitest";
import { answers } from "../saver/stores.ts";
import { allCells, type Cell } from "./cells.ts";
import { runMatrix, violations } from "./matrix.ts";
import { runRandomKills } from "./random-kills.ts";
import { POSTGRES, type Storage } from "./stores.ts";
import { alwaysSuspend, SUSPENDED } from "./suspend.ts";

/** A sample of `npx tsx bench/crash-effects.ts`. */
const cell = (text: string): Cell => {
  const [mode, shape, durability, point, nth] = text.split(" ");
  return { mode, shape, durability, point, nth: Number(nth) } as Cell;
};
const SAMPLE: Record<Storage, readonly string[]> = {
  sqlite: [
    "record single sync K3 1",
    "record parallel async K4 2",
    "query subagent sync K3 1",
    "key interrupt sync K3 1",
    "key single exit K4 1",
    "query parallel sync K2 3",
  ],
  postgres: ["record subagent async K3 1", "key parallel sync K5 2", "query interrupt exit K2 2"],
};
const places = Object.keys(SAMPLE) as Storage[];
const hasServer = await answers(POSTGRES);

describe.each(places)("agents killed between the steps of an effect, on %s", (storage) => {
  const skips = storage === "postgres" && !hasServer;

  it.skipIf(skips)(
    "D1, D6: each effect once, or its outcome is reported as unknown",
    async () => {
      const results = await runMatrix({ cells: SAMPLE[storage].map(cell), storage, guarded: true });
      expect(violations(results)).toEqual([]);
      expect(results.every(({ kills }) => kills === 1)).toBe(true);
    },
    120_000,
  );

  it.skipIf(skips)(
    "D1: always suspended comes to the same",
    async () => {
      const what = SUSPENDED.find(({ name }) => name === (storage === "sqlite" ? "interrupts" : "subagent"));
      const { wrong, lives } = await alwaysSuspend(storage, what as (typeof SUSPENDED)[number]);
      expect(wrong).toEqual([]);
      expect(lives).toBeGreaterThan(4);
    },
    120_000,
  );
});

it("control: without the ledger the same deaths do effects twice", async () => {
  const cells = ["key single sync K3 1", "record subagent sync K3 1"].map(cell);
  const results = await runMatrix({ cells, storage: "sqlite", guarded: false });
  expect(results.map(({ duplicates }) => duplicates)).toEqual([1, 1]);
}, 120_000);

it("D1: a run killed at random moments does each effect once", async () => {
  const report = await runRandomKills({ storage: "sqlite", runs: 1, steps: 10, killsPerRun: 4, seed: 3 });
  expect(report.wrong).toEqual([]);
  expect(report.kills).toBeGreaterThan(1);
}, 120_000);

it("knows each cell by name", () => {
  const cells = allCells({
    modes: ["key"],
    shapes: ["interrupt"],
    durabilities: ["sync"],
    points: ["K1", "K3"],
  });
  expect(cells.map(({ point, nth }) => `${point}:${nth}`)).toEqual(["K1:1", "K1:2", "K3:1"]);
});

import { describe, expect, it } from "vitest";
import { claimTogether } from "./claims.ts";
import { FACES, measureOverhead } from "./overhead.ts";
import { answers, type Storage } from "./places.ts";

/** A sample of `npx tsx bench/effects.ts`. */
for (const storage of ["sqlite", "postgres", "redis"] as const satisfies Storage[]) {
  const isThere = await answers(storage);
  if (!isThere)
    process.stderr.write(`\nSKIPPED: no server of ${storage} answers: no claims are made on it\n`);
  describe.skipIf(!isThere)(`32 claims of one key by 4 processes on ${storage}`, () => {
    it("have one effect and one answer", async () => {
      const report = await claimTogether({ storage, processes: 4, callers: 8, keys: 8, guarded: true });
      expect(report.wrong).toEqual([]);
      expect(report).toMatchObject({ effects: 8, most: 1 });
    }, 120_000);
  });
}

it("without the ledger all 32 have their effect, or the count is worth nothing", async () => {
  const run = { storage: "sqlite", processes: 4, callers: 8, keys: 2, guarded: false } as const;
  expect(await claimTogether(run)).toMatchObject({ effects: 64, most: 32, wrong: [] });
}, 120_000);

it.each(FACES)(
  "measures what a guarded call costs beside a bare one by %s",
  async (face) => {
    const { median, calls } = await measureOverhead(face, "memory", "record", 30);
    // a bound for a busy machine; the bars are those of the bench
    expect(calls).toBe(30);
    expect(median).toBeGreaterThan(0);
    expect(median).toBeLessThan(20);
  },
  60_000,
);

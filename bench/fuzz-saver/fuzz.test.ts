import { expect, it } from "vitest";
import { fuzz } from "./fuzz.ts";

/** A sample of `npx tsx bench/fuzz-saver.ts`. */
it.each([
  ["rows", 180],
  ["journals", 60],
  ["pages", 60],
] as const)(
  "C16: after each change of %s every answer is what was stored, or an error that says where",
  async (layer, mutations) => {
    const report = await fuzz(layer, mutations, 7);
    expect(report.wrong).toEqual([]);
    // the changes were real ones
    expect(report.verified).toBeGreaterThan(mutations / 2);
    expect(report.refused).toBeGreaterThan(mutations / 3);
  },
  120_000,
);

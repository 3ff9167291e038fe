import { UsageError } from "@longhaul/examples/shared/usage-error.ts";
import { describe, expect, it } from "vitest";
import { compare } from "./bars.ts";
import { killsOf, parseBenchOptions } from "./bench-options.ts";
import { runJobs } from "./run-jobs.ts";

it("reads seeds as numbers and ranges, each once", () => {
  expect(parseBenchOptions([]).seeds).toHaveLength(20);
  expect(parseBenchOptions(["--seeds", "2,5,7-9,8"]).seeds).toEqual([2, 5, 7, 8, 9]);
  for (const seeds of ["", "3-1", "one", "1-", "1;2"])
    expect(() => parseBenchOptions(["--seeds", seeds])).toThrow(UsageError);
  expect(() => parseBenchOptions(["--what"])).toThrow(UsageError);
});

it("covers 3 to 6 kills", () => {
  expect(new Set(parseBenchOptions([]).seeds.map(killsOf))).toEqual(new Set([3, 4, 5, 6]));
});

it("runs a few jobs at a time, keeps their order, and begins none after a stop", async () => {
  const stop = new AbortController();
  let running = 0;
  let most = 0;
  const job = (n: number) => async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    if (n === 5) stop.abort();
    return n;
  };
  const jobs = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(job);
  const results = await runJobs({ jobs, atOnce: 2, stop: stop.signal, onDone: () => {} });
  expect(most).toBe(2);
  expect(results.slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
  expect(results.length).toBeLessThan(8);
});

describe("compare", () => {
  const side = (raw: number, cachePriced: number, databaseBytes: number, status = "COMPLETED") => ({
    end: { status, answer: "", steps: 1, resets: 0 },
    costs: { calls: 1, raw, cachePriced },
    databaseBytes,
    seconds: 1,
  });

  it("holds the costs against the bars", () => {
    const met = compare({ longhaul: side(25, 100, 10), baseline: side(100, 100, 1_000) });
    expect(met).toEqual({
      met: true,
      facts: ["prompt tokens 1/4.0", "cache-priced 1/1.0", "database 1/100.0"],
    });
    expect(compare({ longhaul: side(26, 100, 10), baseline: side(100, 100, 1_000) }).met).toBe(false);
    expect(compare({ longhaul: side(25, 101, 10), baseline: side(100, 100, 1_000) }).met).toBe(false);
    expect(compare({ longhaul: side(25, 100, 11), baseline: side(100, 100, 1_000) }).facts[2]).toContain(
      "MISSES 1/100",
    );
  });

  it("takes no figure for a missed one", () => {
    expect(compare({ longhaul: side(0, 0, 0), baseline: side(100, 100, 1_000) }).met).toBe(false);
    expect(compare({ longhaul: side(1, 1, 1), baseline: side(0, 0, 0) }).met).toBe(false);
    expect(compare({ longhaul: side(1, 1, 1) }).met).toBe(false);
    expect(compare({ longhaul: side(1, 1, 1), baseline: side(100, 100, 1_000, "FAILED") }).met).toBe(false);
  });
});

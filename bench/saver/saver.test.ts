import { UsageError } from "@longhaul/examples/shared/usage-error.ts";
import { describe, expect, it } from "vitest";
import { atMost, ratio } from "./bars.ts";
import { parseSaverBenchOptions } from "./options.ts";
import { play, recordRun } from "./recorded-run.ts";
import { differences } from "./same-tuples.ts";
import { sqliteStore, withSaver } from "./stores.ts";

const STEPS = 12;
const show = (n: number) => `${n}`;

it("a short run on both savers: every checkpoint equal, and far fewer bytes", async () => {
  const run = await recordRun(STEPS);
  const ours = sqliteStore("CompactSaver");
  const theirs = sqliteStore("SqliteSaver");
  try {
    await withSaver(ours.spec, (saver) => play(run, saver));
    await withSaver(theirs.spec, (saver) => play(run, saver));
    await withSaver(theirs.spec, (peer) =>
      withSaver(ours.spec, async (mine) => {
        const addresses: { namespace: string; id: string }[] = [];
        for await (const { checkpoint } of peer.list({ configurable: { thread_id: "bench" } }))
          addresses.push({ namespace: "", id: checkpoint.id });
        expect(addresses.length).toBeGreaterThan(2 * STEPS);
        expect(await differences(peer, mine, addresses, "bench")).toEqual([]);
        // the comparison itself can fail
        const other = [{ namespace: "", id: "1f000000-0000-6000-8000-000000000000" }];
        expect(await differences(peer, mine, other, "bench")).toHaveLength(1);
      }),
    );
    // at 300 steps the bar is 1/300: what a step costs grows with the steps before it in theirs, not in ours
    expect(await ours.bytes()).toBeLessThan((await theirs.bytes()) / STEPS);
  } finally {
    await Promise.all([ours.remove(), theirs.remove()]);
  }
}, 60_000);

describe("bars", () => {
  it("hold at the bar and not above it", () => {
    expect(ratio("x", { ours: 1, theirs: 10, bar: 0.1, show }).met).toBe(true);
    expect(ratio("x", { ours: 2, theirs: 10, bar: 0.1, show })).toEqual({
      met: false,
      text: "x: 2 against 10, 1/5.0 (bar 1/10.0)  MISSED",
    });
    expect(atMost("x", { value: 3, bar: 3, show }).met).toBe(true);
    expect(atMost("x", { value: 3.1, bar: 3, show }).met).toBe(false);
  });

  it("take no figure for a missed one", () => {
    expect(ratio("x", { ours: 0, theirs: 10, bar: 1, show }).met).toBe(false);
    expect(ratio("x", { ours: 1, theirs: Number.NaN, bar: 1, show }).met).toBe(false);
    expect(atMost("x", { value: Number.NaN, bar: 1, show }).met).toBe(false);
  });
});

it("refuses what it does not know", () => {
  const names = ["sqlite", "list"];
  expect(parseSaverBenchOptions([], names)).toMatchObject({ steps: 300, only: names, compare: true });
  for (const args of [["--steps", "2"], ["--steps", "x"], ["--only", "mysql"], ["--what"]])
    expect(() => parseSaverBenchOptions(args, names)).toThrow(UsageError);
});

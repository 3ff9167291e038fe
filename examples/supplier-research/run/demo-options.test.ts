import { expect, it } from "vitest";
import { UsageError } from "../../shared/usage-error.ts";
import { parseDemoOptions, USAGE } from "./demo-options.ts";

it("reads every option that its usage names", () => {
  expect(parseDemoOptions([])).toEqual({
    seed: 1,
    kills: 4,
    graph: false,
    baseline: true,
    keep: false,
    resume: undefined,
    without: [],
    baselineWindow: 1_000_000,
  });
  const args = "--seed 7 --kills 0 --graph --no-baseline --keep --without ledger --without supervisor";
  expect(parseDemoOptions([...args.split(" "), "--baseline-window", "32000"])).toMatchObject({
    seed: 7,
    kills: 0,
    graph: true,
    baseline: false,
    keep: true,
    without: ["ledger", "supervisor"],
    baselineWindow: 32_000,
  });
  for (const [option] of USAGE.matchAll(/^ {2}--(?!help)[a-z-]+/gm)) {
    const value = {
      "--seed": "3",
      "--kills": "5",
      "--resume": "dir",
      "--without": "memory",
      "--baseline-window": "2000",
    };
    const name = option.trim();
    expect(() =>
      parseDemoOptions([name, (value as Record<string, string>)[name] ?? []].flat()),
    ).not.toThrow();
  }
});

it.each([
  "--kills 2",
  "--kills 21",
  "--kills -1",
  "--kills 3.5",
  "--kills",
  "--seed one",
  "--seed=",
  "--speed 3",
  "--without everything",
  "--without memory --graph",
  "--baseline-window 10",
  "--resume dir --seed 3",
  "--resume dir --graph",
  "stray",
])("refuses %s", (args) => {
  expect(() => parseDemoOptions(args.split(" "))).toThrow(UsageError);
});

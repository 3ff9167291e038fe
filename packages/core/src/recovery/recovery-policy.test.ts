import fc from "fast-check";
import { expect, it } from "vitest";
import { resolveBackoff } from "./backoff.ts";
import { crashFailure, oneLine, type RunFailure } from "./failure.ts";
import { type Counts, decideRecovery } from "./recovery-policy.ts";

const at = (superstep: number, kind: RunFailure["class"] = "retryable"): RunFailure => ({
  ...crashFailure({ superstep, where: [], at: 0 }),
  class: kind,
});
const base = {
  counts: { failures: {}, recoveries: 0 } as Counts,
  finishedTasks: 0,
  caps: { step: 3, run: 5 },
  backoff: resolveBackoff({ jitter: 0 }),
  canSkip: false,
  immediate: false,
  random: () => 0.5,
};

it("counts by step and over the run", () => {
  let counts = base.counts;
  const seen: unknown[] = [];
  for (const superstep of [3, 3, 5, 5, 3, 5]) {
    const { decision, counts: next } = decideRecovery({ ...base, failure: at(superstep), counts });
    counts = next;
    seen.push(decision.kind === "retry" ? decision.delayMs : decision.kind);
  }
  expect(seen).toEqual([1_000, 5_000, 1_000, 5_000, 30_000, "end"]);
  expect(counts).toEqual({ failures: { 3: 3, 5: 3 }, recoveries: 5 });
});

it("counts anew when another task of the superstep has finished", () => {
  let counts = base.counts;
  const kinds: string[] = [];
  for (const finishedTasks of [0, 0, 2, 2, 2, 2]) {
    const result = decideRecovery({
      ...base,
      failure: at(-1),
      counts,
      finishedTasks,
      caps: { step: 3, run: 9 },
    });
    counts = result.counts;
    kinds.push(`${result.failuresOfStep} ${result.decision.kind}`);
  }
  expect(kinds).toEqual(["1 retry", "2 retry", "1 retry", "2 retry", "3 retry", "4 end"]);
  expect(counts.failures).toEqual({ "-1": 2, "-1+2": 4 });
});

it("does not wait after a crash", () => {
  expect(decideRecovery({ ...base, failure: at(1), immediate: true }).decision).toEqual({
    kind: "retry",
    delayMs: 0,
  });
});

it("ends every run of failures after at most `run` recoveries, skips included", () => {
  const failure = fc.tuple(
    fc.integer({ min: 0, max: 6 }),
    fc.constantFrom("retryable", "recoverable"),
    fc.boolean(),
  );
  fc.assert(
    fc.property(
      fc.nat(4),
      fc.nat(8),
      fc.array(failure, { minLength: 10, maxLength: 20 }),
      (step, run, failures) => {
        let counts = base.counts;
        let recovered = 0;
        let ended = false;
        for (const [superstep, kind, canSkip] of failures) {
          const result = decideRecovery({
            ...base,
            caps: { step, run },
            failure: at(superstep, kind as RunFailure["class"]),
            counts,
            canSkip,
          });
          counts = result.counts;
          ended = result.decision.kind === "end";
          if (ended) break;
          recovered++;
          if (result.decision.kind === "retry") expect(counts.failures[superstep]).toBeLessThanOrEqual(step);
        }
        expect(ended).toBe(true);
        expect(recovered).toBeLessThanOrEqual(run);
      },
    ),
    { seed: 5 },
  );
});

it("takes secrets and control characters out of a failure's line, and bounds it", () => {
  const line = oneLine(
    "bad\nkey sk-proj-abcdefghijklmnop1234 at postgres://user:hunter2@db/x?password=hunter2 Bearer abcdef123456\u0007 " +
      "x".repeat(500),
  );
  expect(line).not.toMatch(/abcdefgh|hunter2|\n|\cG/);
  expect(line.length).toBeLessThanOrEqual(300);
  expect(oneLine(`cut ${"a".repeat(294)}😀😀`).isWellFormed()).toBe(true);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { InvalidOptionsError } from "../errors.ts";
import { backoffDelay, resolveBackoff } from "./backoff.ts";

it("waits 1, 5, 30 s, then 30 s again, ± 20 %", () => {
  const backoff = resolveBackoff();
  expect([1, 2, 3, 4].map((retry) => backoffDelay(retry, backoff, () => 0.5))).toEqual([
    1_000, 5_000, 30_000, 30_000,
  ]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (retry, random) => {
        const base = [1_000, 5_000, 30_000][Math.min(retry, 3) - 1] ?? 0;
        const delay = backoffDelay(retry, backoff, () => random);
        expect(delay).toBeGreaterThanOrEqual(base * 0.8);
        expect(delay).toBeLessThanOrEqual(base * 1.2);
      },
    ),
    { seed: 3 },
  );
});

it("obeys a longer Retry-After up to its cap, and never shortens a wait for a shorter one", () => {
  const backoff = resolveBackoff({ maxRetryAfterMs: 60_000 });
  const middle = () => 0.5;
  expect(backoffDelay(1, backoff, middle, 7_000)).toBe(7_000);
  expect(backoffDelay(2, backoff, middle, 7)).toBe(5_000);
  expect(backoffDelay(1, backoff, middle, 86_400_000)).toBe(60_000);
});

it.each([
  { delaysMs: [] },
  { delaysMs: [-1] },
  { delaysMs: [Number.NaN] },
  { jitter: 2 },
  { jitter: Number.NaN },
  { maxRetryAfterMs: -1 },
])("refuses %j", (options) => {
  expect(() => resolveBackoff(options)).toThrow(InvalidOptionsError);
});

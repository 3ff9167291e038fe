import fc from "fast-check";
import { expect, it } from "vitest";
import { segmentsOf } from "./segments.ts";

/** Text without repetitions, the same in each run. */
function text(chars: number, seed: number): string {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state.toString(36);
  };
  let made = "";
  while (made.length < chars) made += next();
  return made.slice(0, chars);
}

it("segments are the text, none is longer than 65,536 characters", () => {
  const unit = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.integer().map((seed) => text(5_000, seed)),
  );
  fc.assert(
    fc.property(unit, fc.integer({ min: 1, max: 200 }), (part, times) => {
      const whole = part.repeat(times);
      const segments = segmentsOf(whole);
      expect(segments.join("")).toBe(whole);
      for (const segment of segments) expect(segment.length).toBeLessThanOrEqual(65_536);
    }),
    { seed: 3, numRuns: 25 },
  );
});

it("an edit leaves the segments that it does not touch, wherever it is", () => {
  const before = text(400_000, 1);
  const known = new Set(segmentsOf(before));
  expect(known.size).toBeGreaterThan(20);
  for (const at of [0, 1, 65_536, 200_000, 399_999]) {
    const after = segmentsOf(`${before.slice(0, at)}edit${before.slice(at)}`);
    expect(after.filter((segment) => !known.has(segment)).length).toBeLessThan(4);
  }
});

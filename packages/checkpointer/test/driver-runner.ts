import { systemClock } from "@longhaul/core";
import { describe, expect, it } from "vitest";

/** The functions of vitest that the conformance suites need. */
export const runner = {
  describe,
  it,
  equal: (actual: unknown, expected: unknown) => expect(actual).toEqual(expected),
};

export function fakeTime() {
  let time = 1_000_000;
  const now = () => time;
  const advance = (ms: number) => {
    time += ms;
  };
  return { now, advance, clock: { ...systemClock, now } };
}

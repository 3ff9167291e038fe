import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StateFormatError } from "../errors.ts";
import { mergeProgress, type ProgressState, progressState, readProgress } from "./progress-state.ts";

const small = fc.nat(3);
const stamp = { step: small, order: small };
const key = fc.constantFrom("m1:c1", "m1:c2", "m2:c1");
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const progress = fc
  .record({
    v: fc.constant(1 as const),
    latest: some(
      fc.record({
        goal: fc.constantFrom("g", "h"),
        facts: fc.constant([]),
        done: fc.constant([]),
        todo: fc.constant([]),
        open: fc.constant([]),
        key,
        ...stamp,
      }),
    ),
    doneDigests: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d")).map((list) => list.sort()),
    doneAtLastReset: small,
    lastResetCheckpoint: some(key),
    reset: some(fc.record({ key, assistantId: fc.constantFrom("m1", "m2"), step: small })),
    resets: small,
    idle: small,
    judged: some(fc.record({ assistantId: fc.constantFrom("m1", "m2"), ...stamp })),
    asked: some(fc.record({ atStep: small, times: small })),
  })
  .map((value): ProgressState => JSON.parse(JSON.stringify(value)));

describe("mergeProgress", () => {
  it("depends neither on order, nor on grouping, nor on repetition", () => {
    fc.assert(
      fc.property(progress, progress, progress, (a, b, c) => {
        const ab = mergeProgress(a, b);
        expect(mergeProgress(b, a)).toEqual(ab);
        expect(mergeProgress(mergeProgress(a, b), c)).toEqual(mergeProgress(a, mergeProgress(b, c)));
        expect(mergeProgress(ab, b)).toEqual(ab);
        expect(mergeProgress(a, a)).toEqual(a);
        expect(mergeProgress(undefined, a)).toEqual(a);
        expect(mergeProgress(a, undefined)).toEqual(a);
        expect(readProgress(ab)).toEqual(ab);
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});

describe("readProgress", () => {
  it("starts empty and refuses what is damaged or newer", () => {
    expect(readProgress(undefined)).toEqual(progressState());
    expect(() => readProgress({ ...progressState(), v: 2 })).toThrow(StateFormatError);
    expect(() => readProgress({ ...progressState(), resets: "1" })).toThrow(StateFormatError);
    expect(() => readProgress("text")).toThrow(StateFormatError);
  });
});

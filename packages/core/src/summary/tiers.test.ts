import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitSummary } from "./fit-summary.ts";
import { type KeyOutput, readSummary, renderSummary, type StepSummary } from "./step-summary.ts";
import { countWords, cutLine, cutWords } from "./text-size.ts";
import { mergeOnce, mergeSummaries } from "./tiers.ts";

const LIMITS = { maxWords: 300, maxOutputs: 20 };

const text = fc.oneof(
  fc.lorem({ maxCount: 3, mode: "sentences" }),
  fc.string({ unit: fc.constantFrom("订", "单", "已", "发", "货", "。"), maxLength: 400 }),
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.constant(""),
);
const output: fc.Arbitrary<KeyOutput> = fc.record({
  kind: fc.constantFrom("data", "path", "id", "url", "conclusion"),
  value: fc.oneof(fc.uuid(), fc.webUrl(), fc.lorem({ maxCount: 12 }), fc.stringMatching(/^[a-z]{600,900}$/)),
  source: fc.constantFrom("user", "read, step 3", ""),
});
const summaryOf = (i: number): fc.Arbitrary<StepSummary> =>
  fc.record({
    v: fc.constant(1 as const),
    tier: fc.constant(1),
    fromStep: fc.constant(i * 5 + 1),
    toStep: fc.constant(i * 5 + 5),
    done: text,
    outputs: fc.array(output, { maxLength: 30 }),
    problems: fc.array(text, { maxLength: 8 }),
    effect: text,
    open: fc.array(text, { maxLength: 8 }),
    by: fc.constant("model" as const),
    digest: fc.constant(`d${i}`),
  });

function fold(summaries: readonly StepSummary[]): readonly StepSummary[] {
  let list = summaries;
  for (let next = mergeOnce(list, LIMITS); next; next = mergeOnce(list, LIMITS)) {
    list = [...next.before, next.merge.summary, ...next.after];
  }
  return list;
}

const fact = (n: number): StepSummary => ({
  v: 1,
  tier: 1,
  fromStep: n * 5 - 4,
  toStep: n * 5,
  done: `Found fact ${n} among many other things that were of no use at all. `.repeat(6),
  outputs: [
    ...Array.from(
      { length: 12 },
      (_, i): KeyOutput => ({ kind: "data", value: `noise ${n} ${i} of the day`, source: "read" }),
    ),
    { kind: "data", value: `F${n}: value ${n}`, source: "read" },
  ],
  problems: [],
  effect: "",
  open: n === 2 ? ["Is F2 still right?"] : [],
  by: "model",
  digest: `d${n}`,
});

describe("tiers", () => {
  it("A5 (ii): one fact a fold, amid noise: all survive in structured fields, open items too, narration is cut", () => {
    let list: readonly StepSummary[] = [];
    for (let n = 1; n <= 8; n++) list = fold([...list, fact(n)]);
    expect(list.map(({ tier }) => tier)).toEqual([2, 1, 1, 1]);
    const values = list.flatMap(({ outputs }) => outputs.map(({ value }) => value));
    for (let n = 1; n <= 8; n++) expect(values).toContain(`F${n}: value ${n}`);
    expect(list[0]?.open).toEqual(["Is F2 still right?"]);
  });

  it("memory grows with the logarithm of the steps, and every tier is contiguous and in order", () => {
    let list: readonly StepSummary[] = [];
    for (let n = 1; n <= 700; n++) {
      list = fold([...list, { ...fact(n), outputs: [], done: `part ${n}` }]);
      expect(list.length).toBeLessThanOrEqual(4 * Math.ceil(Math.log(n + 1) / Math.log(5)));
    }
    expect(list[0]?.fromStep).toBe(1);
    expect(list.at(-1)?.toStep).toBe(3_500);
    for (const [i, summary] of list.entries()) {
      if (i > 0) expect(summary.fromStep).toBe((list[i - 1]?.toStep ?? 0) + 1);
    }
  });

  it("size: any summary, fitted or merged, is within its limits; what is dropped is named; same in, same out", () => {
    fc.assert(
      fc.property(fc.tuple(...[0, 1, 2, 3, 4].map(summaryOf)), (members) => {
        const merge = mergeSummaries(members, LIMITS, 2);
        const rendered = renderSummary(merge.summary);
        expect(countWords(rendered)).toBeLessThanOrEqual(300);
        expect(rendered.length).toBeLessThanOrEqual(300 * 24 + 2_000);
        expect(merge.summary.outputs.length).toBeLessThanOrEqual(20);
        const all = new Set(members.flatMap(({ outputs }) => outputs.map(({ value }) => value)));
        const accounted = new Set([...merge.summary.outputs, ...merge.dropped].map(({ value }) => value));
        expect(accounted).toEqual(all);
        for (const value of all) expect(merge.text).toContain(value);
        expect(mergeSummaries(members, LIMITS, 2)).toEqual(merge);
        const [first] = members;
        const fitted = fitSummary(first as StepSummary, LIMITS);
        expect(countWords(renderSummary(fitted.summary))).toBeLessThanOrEqual(300);
        expect(fitSummary(fitted.summary, LIMITS).summary).toEqual(fitted.summary);
        expect(readSummary(JSON.parse(JSON.stringify(merge.summary)))).toEqual(merge.summary);
      }),
      { seed: 5, numRuns: 150 },
    );
  });

  it("an output of several members counts as needed and stands once, under its newest source", () => {
    const [a, b] = [1, 2].map((n) => ({
      ...fact(n),
      outputs: [{ kind: "id" as const, value: "ORD-1", source: `read, step ${n}` }, ...fact(n).outputs],
    }));
    const { summary } = mergeSummaries([a!, b!], { ...LIMITS, maxOutputs: 3 }, 2);
    expect(summary.outputs.filter(({ value }) => value === "ORD-1")).toEqual([
      { kind: "id", value: "ORD-1", source: "read, step 2" },
    ]);
  });
});

describe("text size", () => {
  it("counts CJK by character and long tokens by their length", () => {
    expect(countWords("three plain words")).toBe(3);
    expect(countWords("订单已发货 now")).toBe(6);
    expect(countWords("x".repeat(240))).toBe(10);
  });

  it("cuts never tear an identifier or a surrogate pair", () => {
    const line = "The order is ORD-1234567 in /srv/app/a.ts and 😀😀😀 done";
    for (let max = 5; max < line.length; max++) {
      const cut = cutLine(line, max);
      expect(cut.isWellFormed()).toBe(true);
      expect(cut).not.toMatch(/ORD-\d{0,6}…|\/srv[^ ]{0,8}…/);
    }
    for (let max = 1; max < 12; max++) expect(countWords(cutWords(line, max))).toBeLessThanOrEqual(max);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findPrice, priceOf } from "./price.ts";
import { StreamUsage } from "./stream-usage.ts";
import { hasUsage, readUsage } from "./usage.ts";

const estimate = { input: 700, output: 300 };
const metadata = (usage: object) => ({ usage_metadata: usage });
const raw = (usage: object) => ({ response_metadata: { usage } });

describe("readUsage", () => {
  it.each([
    ["no usage at all", {}, 700, 300, 1_000],
    ["NaN input", metadata({ input_tokens: Number.NaN, output_tokens: 5 }), 700, 5, 700],
    ["a string", metadata({ input_tokens: "812", output_tokens: 7 }), 700, 7, 700],
    ["negative", metadata({ input_tokens: -4, output_tokens: -1 }), 700, 300, 1_000],
    ["infinite", metadata({ input_tokens: Number.POSITIVE_INFINITY, output_tokens: 3 }), 700, 3, 700],
    ["absurd", metadata({ input_tokens: 5e12, output_tokens: 3 }), 700, 3, 700],
    ["a fraction", metadata({ input_tokens: 1.5, output_tokens: 3 }), 700, 3, 700],
    [
      "zeros, as streams without usage report",
      metadata({ input_tokens: 0, output_tokens: 0 }),
      700,
      300,
      1_000,
    ],
    ["null fields", metadata({ input_tokens: null, output_tokens: null }), 700, 300, 1_000],
  ])("E1 replaces %s by the estimate and marks it", (_name, source, input, output, estimated) => {
    expect(readUsage(source, estimate)).toMatchObject({ input, output, estimated });
  });

  it("E3 reads cached tokens by either convention, once", () => {
    const price = { input: 1, output: 0, cached: 0.1, cacheWrite: 1.25, per: 1_000 };
    const none = { input: 0, output: 0 };
    const a = readUsage(
      metadata({ input_tokens: 1_000, output_tokens: 0, input_token_details: { cache_read: 800 } }),
      none,
    );
    expect(a).toMatchObject({ input: 1_000, cached: 800, suspect: false });
    expect(priceOf(a, price)).toBeCloseTo(0.28, 10);

    const b = readUsage(
      raw({
        input_tokens: 50,
        output_tokens: 0,
        cache_read_input_tokens: 100_000,
        cache_creation_input_tokens: 248,
      }),
      none,
    );
    expect(b).toMatchObject({ input: 100_298, cached: 100_000, cacheWrite: 248, suspect: false });
    expect(priceOf(b, price)).toBeCloseTo(10.36, 10);

    const c = readUsage(
      {
        ...metadata({
          input_tokens: 100_298,
          output_tokens: 0,
          input_token_details: { cache_read: 100_000, cache_creation: 248 },
        }),
        ...raw({
          input_tokens: 50,
          output_tokens: 0,
          cache_read_input_tokens: 100_000,
          cache_creation_input_tokens: 248,
        }),
      },
      none,
    );
    expect(c).toEqual(b);

    const d = readUsage(
      metadata({ input_tokens: 50, output_tokens: 0, input_token_details: { cache_read: 900 } }),
      none,
    );
    expect(d).toMatchObject({ input: 950, cached: 900, suspect: true });
    expect(priceOf(d, price)).toBeCloseTo(0.05 + 0.09, 10);
  });

  it.each([
    [
      "OpenAI",
      raw({
        prompt_tokens: 100,
        completion_tokens: 20,
        prompt_tokens_details: { cached_tokens: 60 },
        completion_tokens_details: { reasoning_tokens: 5 },
      }),
      { input: 100, output: 20, cached: 60, reasoning: 5 },
    ],
    [
      "OpenAI responses",
      raw({
        input_tokens: 100,
        output_tokens: 20,
        input_tokens_details: { cached_tokens: 60 },
        output_tokens_details: { reasoning_tokens: 5 },
      }),
      { input: 100, output: 20, cached: 60, reasoning: 5 },
    ],
    [
      "LangChain's llmOutput",
      { tokenUsage: { promptTokens: 100, completionTokens: 20 } },
      { input: 100, output: 20 },
    ],
    [
      "Gemini, thoughts apart",
      {
        response_metadata: {
          usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 15, thoughtsTokenCount: 5 },
        },
      },
      { input: 100, output: 20, reasoning: 5 },
    ],
    [
      "Bedrock",
      { response_metadata: { usage: { inputTokens: 40, outputTokens: 20, cacheReadInputTokens: 60 } } },
      { input: 100, output: 20, cached: 60 },
    ],
    ["Ollama", { response_metadata: { prompt_eval_count: 100, eval_count: 20 } }, { input: 100, output: 20 }],
  ])("E3 knows the shape of %s", (_name, source, expected) => {
    expect(readUsage(source, estimate)).toMatchObject({ ...expected, estimated: 0 });
  });

  it("E1 gives finite, whole, non-negative figures whatever a provider reports", () => {
    const figure = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.string(),
      fc.constant(null),
      fc.constant(undefined),
      fc.bigInt(),
    );
    const names = [
      "input_tokens",
      "output_tokens",
      "prompt_tokens",
      "completion_tokens",
      "cache_read_input_tokens",
      "cache_creation_input_tokens",
      "promptTokenCount",
      "thoughtsTokenCount",
      "inputTokens",
      "eval_count",
    ];
    const block = fc.dictionary(fc.constantFrom(...names), figure);
    const details = fc.record({ cache_read: figure, cache_creation: figure });
    const sources = fc.oneof(
      fc
        .tuple(block, details)
        .map(([usage, input_token_details]) => metadata({ ...usage, input_token_details })),
      block.map(raw),
      block,
      fc.anything(),
    );
    fc.assert(
      fc.property(sources, (source) => {
        const usage = readUsage(source, estimate);
        for (const value of [
          usage.input,
          usage.output,
          usage.cached,
          usage.cacheWrite,
          usage.reasoning,
          usage.estimated,
        ]) {
          expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
        }
        expect(usage.cached + usage.cacheWrite).toBeLessThanOrEqual(usage.input);
        expect(usage.estimated).toBeLessThanOrEqual(usage.input + usage.output);
        expect(usage.input + usage.output).toBeGreaterThan(0);
        expect(priceOf(usage, { input: 1, output: 1, cached: 0 })).toBeGreaterThanOrEqual(0);
      }),
      { seed: 11, numRuns: 500 },
    );
  });
});

describe("StreamUsage", () => {
  const chunk = (input: number, output: number) => metadata({ input_tokens: input, output_tokens: output });
  const none = {};
  const styles: Record<string, object[]> = {
    "the running total on each": Array.from({ length: 50 }, (_, i) => chunk(10, i + 1)),
    "what is new on each": [chunk(10, 1), ...Array.from({ length: 49 }, () => chunk(0, 1))],
    "usage on the last only": [...Array.from({ length: 49 }, () => none), chunk(10, 50)],
    "usage on first and last": [chunk(10, 1), ...Array.from({ length: 48 }, () => none), chunk(10, 50)],
  };
  for (const [style, chunks] of Object.entries(styles)) {
    it(`E2 makes 10 and 50 of a stream with ${style}`, () => {
      const stream = new StreamUsage();
      for (const each of chunks) stream.see(each);
      expect(stream.total()).toMatchObject({ input: 10, output: 50 });
    });
  }

  it("E2 knows nothing of a stream without usage", () => {
    const stream = new StreamUsage();
    stream.see({});
    expect(stream.total()).toBeUndefined();
    expect(hasUsage({})).toBe(false);
  });
});

describe("findPrice", () => {
  it("prefers the exact name, then the longest beginning, then the rest", () => {
    const prices = {
      "gpt-5": { input: 1, output: 1 },
      "gpt-5-mini": { input: 2, output: 2 },
      "*": { input: 3, output: 3 },
    };
    expect(findPrice(prices, "gpt-5")?.input).toBe(1);
    expect(findPrice(prices, "gpt-5-mini-2026-01-01")?.input).toBe(2);
    expect(findPrice(prices, "other")?.input).toBe(3);
    expect(findPrice({ a: { input: 1, output: 1 } }, "toString")).toBeUndefined();
  });
});

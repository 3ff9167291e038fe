import type { Usage } from "./usage.ts";

/** Price of one model, in any currency, for `per` tokens. */
export interface ModelPrice {
  /** Fresh input. Minimum 0. */
  readonly input: number;
  /** Output, reasoning included. Minimum 0. */
  readonly output: number;
  /** Input read from the cache. Minimum 0. @default as `input` */
  readonly cached?: number | undefined;
  /** Input written to the cache. Minimum 0. @default as `input` */
  readonly cacheWrite?: number | undefined;
  /** Number of tokens that these prices are for. Minimum 1. @default 1,000,000 */
  readonly per?: number | undefined;
}

/** Cost of one call. Never negative. */
export function priceOf(usage: Usage, price: ModelPrice): number {
  const fresh = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
  const sum =
    fresh * price.input +
    usage.cached * (price.cached ?? price.input) +
    usage.cacheWrite * (price.cacheWrite ?? price.input) +
    usage.output * price.output;
  return sum / (price.per ?? 1_000_000);
}

/**
 * Price for a model's name: the exact entry, else the longest that the name starts with (`gpt-5` for
 * `gpt-5-2026-01-01`), else the entry `*`.
 */
export function findPrice(
  prices: Readonly<Record<string, ModelPrice>>,
  model: string | undefined,
): ModelPrice | undefined {
  if (model !== undefined) {
    if (Object.hasOwn(prices, model)) return prices[model];
    const prefix = Object.keys(prices)
      .filter((name) => name !== "*" && model.startsWith(name))
      .sort((a, b) => b.length - a.length)[0];
    if (prefix !== undefined) return prices[prefix];
  }
  return Object.hasOwn(prices, "*") ? prices["*"] : undefined;
}

/** The entry that costs most for a token in and a token out. */
function dearestPrice(prices: Readonly<Record<string, ModelPrice>>): ModelPrice | undefined {
  const perToken = (price: ModelPrice) => (price.input + price.output) / (price.per ?? 1_000_000);
  return Object.values(prices).reduce<ModelPrice | undefined>(
    (dearest, price) => (dearest && perToken(dearest) >= perToken(price) ? dearest : price),
    undefined,
  );
}

/** Price of a model. One that is not in the table costs as the dearest: an unknown price is no gift. */
export function priceFor(
  budget: { readonly prices: Readonly<Record<string, ModelPrice>> },
  model: string | undefined,
): ModelPrice | undefined {
  return findPrice(budget.prices, model) ?? dearestPrice(budget.prices);
}

import type { ServedRequest } from "@longhaul/test-kit";

/** Price of a token read from the prompt cache, of one written to it, as shares of the plain input price. */
const CACHE_READ = 0.1;
const CACHE_WRITE = 1.25;

/** Tokens of one call as its usage gives them. */
export interface CountedCall {
  /** Cached ones included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
}

export interface TokenCosts {
  /** Answered requests. */
  readonly calls: number;
  /** Prompt tokens as sent. */
  readonly raw: number;
  /** Prompt tokens as priced: cached ones at 0.1, the rest at 1.25. */
  readonly cachePriced: number;
}

export const NO_COSTS: TokenCosts = { calls: 0, raw: 0, cachePriced: 0 };

/** Costs of what a server says it answered. */
export function servedCosts(
  requests: readonly Pick<ServedRequest, "tokens" | "cachedTokens" | "status">[],
): TokenCosts {
  return requests
    .filter((request) => request.status === 200)
    .map(({ tokens, cachedTokens }) => callCosts({ inputTokens: tokens, cachedTokens }))
    .reduce(addCosts, NO_COSTS);
}

/** Costs of one call that an agent process counted itself, for an endpoint that keeps no record for us. */
export function callCosts({ inputTokens, cachedTokens }: CountedCall): TokenCosts {
  return {
    calls: 1,
    raw: inputTokens,
    cachePriced: cachedTokens * CACHE_READ + (inputTokens - cachedTokens) * CACHE_WRITE,
  };
}

export function addCosts(a: TokenCosts, b: TokenCosts): TokenCosts {
  return {
    calls: a.calls + b.calls,
    raw: a.raw + b.raw,
    cachePriced: a.cachePriced + b.cachePriced,
  };
}

import type { ServedRequest } from "@longhaul/test-kit";

/** Price of a token read from the prompt cache, of one written to it, as shares of the plain input price. */
export const CACHE_READ = 0.1;
export const CACHE_WRITE = 1.25;

export interface TokenCosts {
  /** Answered requests. */
  readonly calls: number;
  /** Prompt tokens as sent. */
  readonly raw: number;
  /** Prompt tokens as priced: cached ones at 0.1, the rest at 1.25. */
  readonly cachePriced: number;
}

export const NO_COSTS: TokenCosts = { calls: 0, raw: 0, cachePriced: 0 };

export function tokenCosts(
  requests: readonly Pick<ServedRequest, "tokens" | "cachedTokens" | "status">[],
): TokenCosts {
  const answered = requests.filter((request) => request.status === 200);
  const raw = answered.reduce((sum, request) => sum + request.tokens, 0);
  const cached = answered.reduce((sum, request) => sum + request.cachedTokens, 0);
  return { calls: answered.length, raw, cachePriced: cached * CACHE_READ + (raw - cached) * CACHE_WRITE };
}

/** Adds calls that an agent process counted itself, for an endpoint that keeps no record for us. */
export function addCounted(
  costs: TokenCosts,
  call: { inputTokens: number; cachedTokens: number },
): TokenCosts {
  return {
    calls: costs.calls + 1,
    raw: costs.raw + call.inputTokens,
    cachePriced:
      costs.cachePriced +
      call.cachedTokens * CACHE_READ +
      (call.inputTokens - call.cachedTokens) * CACHE_WRITE,
  };
}

export function addCosts(a: TokenCosts, b: TokenCosts): TokenCosts {
  return { calls: a.calls + b.calls, raw: a.raw + b.raw, cachePriced: a.cachePriced + b.cachePriced };
}

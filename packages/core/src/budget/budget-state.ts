export type BudgetLevel = "normal" | "economy" | "essential" | "wrap-up" | "stop";

export interface BudgetTotals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly cost: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly agentSteps: number;
  readonly activeMs: number;
  /** Tokens of `inputTokens + outputTokens` that were estimated because the provider reported none. */
  readonly estimatedTokens: number;
}

/** Channel `_longhaulBudget`: readable mirror of the ledger. */
export interface BudgetMirror {
  readonly v: 1;
  readonly run: string;
  readonly totals: BudgetTotals;
  readonly level: BudgetLevel;
  readonly phase?: string | undefined;
  /** Which limit is nearest: `tokens`, `time`, `modelCalls`, `toolCalls`, `steps`, `cost`. */
  readonly nearest: string;
  /** Used share of that limit, 0 to 1. */
  readonly share: number;
}

import { StateFormatError } from "../errors.ts";

/** Levels of degradation, mildest first. */
export const BUDGET_LEVELS = ["normal", "economy", "essential", "wrap-up", "stop"] as const;
export type BudgetLevel = (typeof BUDGET_LEVELS)[number];

/** What can run out. */
const BUDGET_LIMITS = [
  "tokens",
  "time",
  "deadline",
  "modelCalls",
  "toolCalls",
  "steps",
  "cost",
  "concurrency",
] as const;
export type BudgetLimitName = (typeof BUDGET_LIMITS)[number];

export interface BudgetTotals {
  /** All input tokens, those read from and written to the provider's cache included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly cost: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly agentSteps: number;
  readonly activeMs: number;
  /** Tokens of `inputTokens + outputTokens` that were estimated because the provider reported none. */
  readonly estimatedTokens: number;
}

export const ZERO_TOTALS: BudgetTotals = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  cost: 0,
  modelCalls: 0,
  toolCalls: 0,
  agentSteps: 0,
  activeMs: 0,
  estimatedTokens: 0,
};

/** Channel `_longhaulBudget`: readable mirror of the ledger, and what the model was told so far. */
export interface BudgetMirror {
  readonly v: 1;
  readonly run: string;
  readonly totals: BudgetTotals;
  /** Level after the last step: the next request is shaped by it. */
  readonly level: BudgetLevel;
  /** Highest level whose notice stood in a request whose answer was kept. Follows the state, so a replay tells it again. */
  readonly announced: BudgetLevel;
  readonly phase?: string | undefined;
  /** Phase whose coming end was announced. */
  readonly warnedPhase?: string | undefined;
  /** Which limit is nearest. */
  readonly nearest: BudgetLimitName;
  /** Used share of that limit less the reserve, 0 to 1 and above when overdrawn. */
  readonly share: number;
  /** What is left of each limit that is set, in its own unit. */
  readonly balance: Readonly<Partial<Record<BudgetLimitName, number>>>;
  /** Superstep of the last model call of this agent, and the widest distance seen between two: for the step limit. */
  readonly superstep?: number | undefined;
  readonly stride?: number | undefined;
  /** Input tokens of the last turn: what the next one is expected to need at least. */
  readonly turnInput?: number | undefined;
}

/**
 * Validates what a checkpoint holds in `_longhaulBudget`.
 *
 * @throws StateFormatError when it is damaged or written by a newer version
 */
export function readBudgetMirror(value: unknown): BudgetMirror | undefined {
  if (value === undefined || value === null) return undefined;
  const mirror = value as Partial<BudgetMirror>;
  const fail = (expected: string): never => {
    throw new StateFormatError({ channel: "_longhaulBudget", found: value, expected });
  };
  if (typeof value !== "object" || mirror.v !== 1) return fail("an object with v: 1");
  if (typeof mirror.run !== "string") return fail("a run key");
  if (!BUDGET_LEVELS.includes(mirror.level as BudgetLevel)) return fail("a known level");
  return {
    ...(mirror as BudgetMirror),
    totals: readTotals(mirror.totals, () => fail("finite totals")),
    announced: BUDGET_LEVELS.includes(mirror.announced as BudgetLevel)
      ? (mirror.announced as BudgetLevel)
      : "normal",
    balance: mirror.balance ?? {},
  };
}

/** Totals out of storage: every figure a finite number of at least 0, absent ones 0. */
export function readTotals(value: unknown, fail: () => never): BudgetTotals {
  if (typeof value !== "object" || value === null) return fail();
  const given = value as Record<string, unknown>;
  const totals: Record<string, number> = {};
  for (const name of Object.keys(ZERO_TOTALS)) {
    const figure = given[name] ?? 0;
    if (typeof figure !== "number" || !Number.isFinite(figure) || figure < 0) return fail();
    totals[name] = figure;
  }
  return totals as unknown as BudgetTotals;
}

/** What `budgetOf` tells about a run. */
export interface BudgetReport {
  readonly run: string;
  readonly totals: BudgetTotals;
  /** What is left of each limit that is set: tokens, milliseconds, calls, steps, cost. */
  readonly balance: Readonly<Partial<Record<BudgetLimitName, number>>>;
  readonly level: BudgetLevel;
  readonly phase?: string | undefined;
  readonly nearest: BudgetLimitName;
  readonly share: number;
  /** Part of all tokens that is an estimate, 0 to 1. */
  readonly estimatedShare: number;
}

/**
 * Totals, balance, level and phase of a run, from the values of `getState()`.
 *
 * @returns undefined when no step of a budgeted agent was saved in this state
 * @throws StateFormatError when the channel cannot be read
 */
export function budgetOf(values: unknown): BudgetReport | undefined {
  const mirror = readBudgetMirror((values as { _longhaulBudget?: unknown } | undefined)?._longhaulBudget);
  if (!mirror) return undefined;
  const { run, totals, balance, level, phase, nearest, share } = mirror;
  const tokens = totals.inputTokens + totals.outputTokens;
  return {
    run,
    totals,
    balance,
    level,
    nearest,
    share,
    estimatedShare: tokens === 0 ? 0 : totals.estimatedTokens / tokens,
    ...(phase === undefined ? {} : { phase }),
  };
}

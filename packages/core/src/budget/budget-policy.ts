import type { ResolvedBudget } from "./budget-options.ts";
import { BUDGET_LEVELS, type BudgetLevel, type BudgetLimitName, type BudgetTotals } from "./budget-state.ts";

/** How far one limit is used up. */
export interface LimitPosition {
  readonly limit: BudgetLimitName;
  readonly used: number;
  /** The whole limit. */
  readonly of: number;
  /** What ordinary steps may use of it: the limit less the reserve. */
  readonly usable: number;
  /** `used ÷ usable`. */
  readonly share: number;
}

/** Where a run stands, as a whole. */
export interface BudgetPosition {
  readonly level: BudgetLevel;
  /** The limit that decides; the closest to its end. */
  readonly nearest: LimitPosition;
  readonly balance: Readonly<Partial<Record<BudgetLimitName, number>>>;
}

/** Times that a position depends on besides totals. */
export interface BudgetTimes {
  /** Now and the beginning of the run, milliseconds since 1970. For the absolute deadline. */
  readonly now: number;
  readonly openedAt: number;
}

/** What an ordinary step may use of a limit. Where calls are counted one is always kept for the closing answer. */
export function usableOf(limit: BudgetLimitName, of: number, reserve: number): number {
  const usable = of * (1 - reserve);
  return limit === "modelCalls" || limit === "steps" ? Math.min(usable, of - 1) : usable;
}

export function budgetPosition(
  totals: BudgetTotals,
  budget: ResolvedBudget,
  times: BudgetTimes,
): BudgetPosition {
  const positions = Object.entries(budget.limits)
    .filter(([limit]) => limit !== "concurrency")
    .map(([limit, of]) => positionOf(limit as BudgetLimitName, of as number, totals, budget, times));
  const nearest = positions.reduce<LimitPosition>((near, next) => (next.share > near.share ? next : near), {
    limit: "tokens",
    used: 0,
    of: Number.POSITIVE_INFINITY,
    usable: Number.POSITIVE_INFINITY,
    share: 0,
  });
  return {
    level: levelAt(positions, nearest.share, budget),
    nearest,
    balance: Object.fromEntries(positions.map(({ limit, of, used }) => [limit, Math.max(0, of - used)])),
  };
}

/** Levels between two, the lower excluded, in order: what has to be announced. */
export function levelsBetween(from: BudgetLevel, to: BudgetLevel): BudgetLevel[] {
  return BUDGET_LEVELS.slice(BUDGET_LEVELS.indexOf(from) + 1, BUDGET_LEVELS.indexOf(to) + 1);
}

export function isAtLeast(level: BudgetLevel, least: BudgetLevel): boolean {
  return BUDGET_LEVELS.indexOf(level) >= BUDGET_LEVELS.indexOf(least);
}

/** A call past 95 % may still close the run; only a limit that is used up as a whole, reserve included, ends it without one. */
function levelAt(positions: readonly LimitPosition[], share: number, budget: ResolvedBudget): BudgetLevel {
  // No tool call is needed to answer: a used up `toolCalls` alone never stops the closing call.
  if (positions.some(({ limit, used, of }) => limit !== "toolCalls" && used >= of)) return "stop";
  if (share >= budget.levels.wrapUp) return "wrap-up";
  if (share >= budget.levels.essential) return "essential";
  return share >= budget.levels.economy ? "economy" : "normal";
}

function positionOf(
  limit: BudgetLimitName,
  of: number,
  totals: BudgetTotals,
  budget: ResolvedBudget,
  times: BudgetTimes,
): LimitPosition {
  if (limit === "deadline") {
    const whole = Math.max(0, of - times.openedAt);
    return place(limit, times.now - times.openedAt, whole, budget.reserve);
  }
  return place(limit, usedOf(limit, totals), of, budget.reserve);
}

function place(limit: BudgetLimitName, used: number, of: number, reserve: number): LimitPosition {
  const usable = usableOf(limit, of, reserve);
  const spent = Math.max(0, used);
  return { limit, used: spent, of, usable, share: usable > 0 ? spent / usable : spent > 0 ? 1 : 0 };
}

/** What the totals say about a limit. */
export function usedOf(limit: BudgetLimitName, totals: BudgetTotals): number {
  switch (limit) {
    case "tokens":
      return totals.inputTokens + totals.outputTokens;
    case "time":
      return totals.activeMs;
    case "modelCalls":
      return totals.modelCalls;
    case "toolCalls":
      return totals.toolCalls;
    case "steps":
      return totals.agentSteps;
    case "cost":
      return totals.cost;
    case "deadline":
    case "concurrency":
      return 0;
  }
}

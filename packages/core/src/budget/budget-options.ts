import { InvalidOptionsError } from "../errors.ts";
import { BudgetTooSmallError } from "./budget-errors.ts";
import type { BudgetLimitName } from "./budget-state.ts";
import type { ModelPrice } from "./price.ts";

/** What a run may use. Each limit that is left out of `limits` comes from the preset; `null` switches one off. */
export interface BudgetLimits {
  /** Input (cached included) plus output tokens of all model calls of the run. Minimum 2,000. */
  readonly tokens?: number | null | undefined;
  /** Active milliseconds: model and tool calls. Waiting for a person and time without a process are free. Minimum 1,000. */
  readonly timeMs?: number | null | undefined;
  /** Moment at which the run has to be over, milliseconds since 1970. @default none */
  readonly deadline?: number | null | undefined;
  /** Model calls, failed tries, summaries and subagents included. Minimum 2. */
  readonly modelCalls?: number | null | undefined;
  /** Tool calls. Above it calls get an error result instead of being run. Minimum 0. */
  readonly toolCalls?: number | null | undefined;
  /** Agent steps: model turns whose answer was kept. Minimum 2. */
  readonly steps?: number | null | undefined;
  /** Model calls at one time; more of them wait. Minimum 1. @default none */
  readonly concurrency?: number | null | undefined;
  /** Cost in the currency of `prices`. Above 0. @default none */
  readonly cost?: number | null | undefined;
}

export interface BudgetPhase {
  readonly name: string;
  /** Part of the budget, above 0. All shares together are at most 1. */
  readonly share: number;
}

/** Options of the budget concern. Cost of a budget: two small storage writes for a model call, one for a tool call. */
export interface BudgetOptions {
  /**
   * Set of limits. `simple`: 100k tokens, 30 min, 50 model calls, 100 tool calls, 50 steps; `medium`: 500k, 1 h, 100, 200, 100;
   * `complex`: 2M, 2 h, 500, 1,000, 500. @default "medium"
   */
  readonly preset?: "simple" | "medium" | "complex" | undefined;
  /** Own limits over those of the preset. @default {} */
  readonly limits?: BudgetLimits | undefined;
  /** Phases in order; what one leaves goes to the next. @default none */
  readonly phases?: readonly BudgetPhase[] | undefined;
  /** A phase may use up what later ones have; it then ends only when the next is entered on purpose. @default false */
  readonly borrow?: boolean | undefined;
  /** Part of each limit that is kept for the closing answer. 0 to 0.9. @default 0.15 */
  readonly reserve?: number | undefined;
  /** Shares of (limit − reserve) at which the levels begin, growing, 0 to 1. @default 0.7, 0.85, 0.95 */
  readonly levels?:
    | { readonly economy?: number; readonly essential?: number; readonly wrapUp?: number }
    | undefined;
  /** Prices by model name, by the beginning of one, or `*`. A model that is not in it costs as the dearest entry. @default none */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined;
  /** Stop the run, instead of estimating, when a provider reports no usable figures. @default false */
  readonly strict?: boolean | undefined;
}

export interface ResolvedBudget {
  readonly limits: Readonly<Partial<Record<BudgetLimitName, number>>>;
  readonly phases: readonly BudgetPhase[];
  readonly borrow: boolean;
  readonly reserve: number;
  readonly levels: { readonly economy: number; readonly essential: number; readonly wrapUp: number };
  readonly prices: Readonly<Record<string, ModelPrice>>;
  readonly strict: boolean;
}

const MINUTE = 60_000;

const PRESETS = {
  simple: { tokens: 100_000, time: 30 * MINUTE, modelCalls: 50, toolCalls: 100, steps: 50 },
  medium: { tokens: 500_000, time: 60 * MINUTE, modelCalls: 100, toolCalls: 200, steps: 100 },
  complex: { tokens: 2_000_000, time: 120 * MINUTE, modelCalls: 500, toolCalls: 1_000, steps: 500 },
} as const;

/** Least value of each limit with which one agent step and a closing answer can be made. */
const MINIMUM: Partial<Record<BudgetLimitName, number>> = {
  tokens: 2_000,
  time: 1_000,
  modelCalls: 2,
  steps: 2,
};

/**
 * @throws InvalidOptionsError for a value that cannot work
 * @throws BudgetTooSmallError for a limit below one step and the closing answer
 */
export function resolveBudgetOptions(options: BudgetOptions = {}): ResolvedBudget {
  const {
    preset = "medium",
    reserve = 0.15,
    phases = [],
    prices = {},
    strict = false,
    borrow = false,
  } = options;
  if (!Object.hasOwn(PRESETS, preset)) invalid("budget.preset", preset, '"simple", "medium" or "complex"');
  if (!(reserve >= 0 && reserve <= 0.9)) invalid("budget.reserve", reserve, "a number from 0 to 0.9");
  checkPrices(prices);
  checkPhases(phases);
  const levels = { economy: 0.7, essential: 0.85, wrapUp: 0.95, ...options.levels };
  if (
    !(
      0 < levels.economy &&
      levels.economy < levels.essential &&
      levels.essential < levels.wrapUp &&
      levels.wrapUp <= 1
    )
  ) {
    invalid("budget.levels", options.levels, "growing shares above 0 and at most 1");
  }
  const limits = resolveLimits(preset, options.limits ?? {});
  if (limits.cost !== undefined && Object.keys(prices).length === 0) {
    invalid("budget.prices", prices, "given when `limits.cost` is set");
  }
  return { limits, phases, borrow, reserve, levels, prices, strict };
}

function resolveLimits(preset: keyof typeof PRESETS, given: BudgetLimits): ResolvedBudget["limits"] {
  const limits: Partial<Record<BudgetLimitName, number>> = { ...PRESETS[preset] };
  for (const [option, value] of Object.entries(given) as [keyof BudgetLimits, number | null | undefined][]) {
    if (value === undefined) continue;
    const name: BudgetLimitName = option === "timeMs" ? "time" : option;
    if (value === null) {
      delete limits[name];
      continue;
    }
    const least = option === "toolCalls" ? 0 : option === "concurrency" ? 1 : Number.MIN_VALUE;
    const whole = option !== "cost" && option !== "timeMs" && option !== "deadline";
    if (!Number.isFinite(value) || value < least || (whole && !Number.isInteger(value))) {
      invalid(
        `budget.limits.${option}`,
        value,
        whole ? "a whole number, 0 excluded where a call needs it" : "a number above 0",
      );
    }
    const minimum = MINIMUM[name];
    if (minimum !== undefined && value < minimum)
      throw new BudgetTooSmallError({ limit: name, given: value, minimum });
    limits[name] = value;
  }
  return limits;
}

function checkPrices(prices: Readonly<Record<string, ModelPrice>>): void {
  for (const [model, price] of Object.entries(prices)) {
    const { input, output, cached = 0, cacheWrite = 0, per = 1 } = price;
    if (
      ![input, output, cached, cacheWrite].every((value) => Number.isFinite(value) && value >= 0) ||
      !(per >= 1)
    ) {
      invalid(`budget.prices.${model}`, price, "prices of at least 0 for at least 1 token");
    }
  }
}

function checkPhases(phases: readonly BudgetPhase[]): void {
  if (!Array.isArray(phases)) invalid("budget.phases", phases, "a list of phases");
  const sum = phases.reduce((total, phase) => total + phase.share, 0);
  const names = new Set(phases.map((phase) => phase.name));
  if (phases.some((phase) => !(phase.share > 0)) || sum > 1.000_001 || names.size !== phases.length) {
    invalid("budget.phases", phases, "phases with own names and shares above 0 that add up to at most 1");
  }
}

function invalid(option: string, value: unknown, expected: string): never {
  throw new InvalidOptionsError({ option, value, expected });
}

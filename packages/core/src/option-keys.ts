import type { BudgetLimits, BudgetOptions } from "./budget/budget-options.ts";
import type { ContextOptions } from "./context/context-options.ts";
import type { EffectOptions } from "./effects/effect-options.ts";
import { InvalidOptionsError } from "./errors.ts";
import type { LoopOptions } from "./loops/loop-options.ts";
import type { ProgressOptions } from "./progress/progress-options.ts";
import type { ModelLimitOptions } from "./tools/model-timeout.ts";
import type { ToolLimitOptions } from "./tools/tool-limits.ts";

/** Every key of an options type; the compiler notices one that is missing. */
export type OptionKeys<T> = Readonly<Record<keyof T, true>>;

/**
 * A mistyped option would be ignored in silence, and what it was to guard stay unguarded.
 *
 * @throws InvalidOptionsError when `value` is given and no object, or has a key that is not in `keys`
 */
export function checkOptionKeys(option: string, value: unknown, keys: Readonly<Record<string, true>>): void {
  if (value === undefined) return;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidOptionsError({ option, value, expected: "an object of options" });
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(keys, key)) continue;
    const expected = `one of ${Object.keys(keys).join(", ")}`;
    throw new InvalidOptionsError({ option, value: key, expected });
  }
}

/** Options by concern, as `longhaul()` and `createLonghaulGraph()` take them. */
export interface OptionSections {
  readonly context?: unknown;
  readonly progress?: unknown;
  readonly loops?: unknown;
  readonly effects?: unknown;
  readonly toolGuard?: unknown;
  readonly budget?: unknown;
}

/** Looks for unknown keys in the options of all concerns; `false` leaves a concern out. @throws InvalidOptionsError */
export function checkOptionSections(sections: OptionSections): void {
  for (const [name, keys] of Object.entries(SECTIONS)) {
    const section = sections[name as keyof OptionSections];
    if (section !== false) checkOptionKeys(name, section, keys);
  }
  const { budget } = sections as { budget?: { limits?: unknown } | false };
  if (budget) checkOptionKeys("budget.limits", budget.limits, LIMITS);
}

const LIMITS: OptionKeys<BudgetLimits> = {
  tokens: true,
  timeMs: true,
  deadline: true,
  modelCalls: true,
  toolCalls: true,
  steps: true,
  concurrency: true,
  cost: true,
};

const SECTIONS: {
  readonly context: OptionKeys<ContextOptions>;
  readonly progress: OptionKeys<ProgressOptions>;
  readonly loops: OptionKeys<LoopOptions>;
  readonly effects: OptionKeys<EffectOptions>;
  readonly toolGuard: OptionKeys<ToolLimitOptions & ModelLimitOptions>;
  readonly budget: OptionKeys<BudgetOptions & { cheaperModel?: unknown }>;
} = {
  context: {
    window: true,
    softLimit: true,
    hardLimit: true,
    fold: true,
    history: true,
    constraints: true,
    prohibition: true,
    memoryLimit: true,
    directionsLimit: true,
    resultLimit: true,
    askReset: true,
    recallTool: true,
    summary: true,
    prompts: true,
  },
  progress: {
    checkpointName: true,
    resetName: true,
    maxCharacters: true,
    idleCheckpoints: true,
    events: true,
    deps: true,
  },
  loops: {
    window: true,
    maxPeriod: true,
    cycle: true,
    actions: true,
    errors: true,
    noProgress: true,
    unavailable: true,
    similarity: true,
    nudges: true,
    nudgeText: true,
    normalise: true,
    announces: true,
    tools: true,
  },
  effects: { scope: true, onFork: true, leaseMs: true, heartbeatMs: true, waitMs: true },
  toolGuard: {
    timeoutMs: true,
    retries: true,
    backoffMs: true,
    concurrency: true,
    modelTimeoutMs: true,
  },
  budget: {
    preset: true,
    limits: true,
    phases: true,
    borrow: true,
    reserve: true,
    levels: true,
    prices: true,
    strict: true,
    cheaperModel: true,
  },
};

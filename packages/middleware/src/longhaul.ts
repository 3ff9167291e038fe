import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  type BudgetOptions,
  type ContextOptions,
  checkOptionKeys,
  checkOptionSections,
  contextFor,
  type EffectOptions,
  type LoopOptions,
  type ModelLimitOptions,
  memoryStorage,
  type OptionKeys,
  type ProgressOptions,
  type ToolLimitOptions,
  type ToolOptionsMap,
  withSystemDeps,
} from "@longhaul/core";
import { budgetMiddleware } from "./budget-middleware.ts";
import { contextMiddleware } from "./context-middleware.ts";
import { idempotencyMiddleware } from "./idempotency-middleware.ts";
import { loopDetectionMiddleware } from "./loop-detection-middleware.ts";
import { progressMiddleware } from "./progress-middleware.ts";
import { runStatusMiddleware } from "./run-status-middleware.ts";
import type { CommonOptions } from "./shared/common-options.ts";
import { toolGuardMiddleware } from "./tool-guard-middleware.ts";

/** Options of `longhaul()`. Every key is optional; `false` leaves that part out. */
export interface LonghaulOptions extends CommonOptions {
  /** Model that writes summaries; a cheaper one than the agent's will do. @default none: summaries are made by rule, offline */
  readonly summarizer?: BaseChatModel | undefined;
  /** Layered context, folds, summaries, recall. @default {} */
  readonly context?: ContextOptions | false | undefined;
  /** Tools `checkpoint` and `reset`. @default {} */
  readonly progress?: ProgressOptions | false | undefined;
  /** Loop detection. @default {} */
  readonly loops?: LoopOptions | false | undefined;
  /** Side effects once. @default {} */
  readonly effects?: EffectOptions | false | undefined;
  /** Time-out, retry, concurrency of tools. @default {} */
  readonly toolGuard?: (ToolLimitOptions & ModelLimitOptions) | false | undefined;
  /** Tokens, time, calls, steps, levels. @default { preset: "medium" } */
  readonly budget?:
    | (BudgetOptions & { readonly cheaperModel?: BaseChatModel | undefined })
    | false
    | undefined;
  /** What belongs to one tool, by name: effect, time-out, polling, … @default {} */
  readonly tools?: ToolOptionsMap | undefined;
}

/** The middleware of `longhaul(options)`, as a tuple: what the options leave out is not in it. */
export type LonghaulMiddleware<O extends LonghaulOptions = LonghaulOptions> = readonly [
  ReturnType<typeof runStatusMiddleware>,
  ...Part<O, "budget", ReturnType<typeof budgetMiddleware>>,
  ...Part<O, "loops", ReturnType<typeof loopDetectionMiddleware>>,
  ...Part<O, "progress", ReturnType<typeof progressMiddleware>>,
  ...Part<O, "toolGuard", ReturnType<typeof toolGuardMiddleware>>,
  ...Part<O, "effects", ReturnType<typeof idempotencyMiddleware>>,
  ...Part<O, "context", ReturnType<typeof contextMiddleware>>,
];

type Part<O extends LonghaulOptions, K extends keyof LonghaulOptions, M> = [O[K]] extends [false] ? [] : [M];

const KEYS: OptionKeys<LonghaulOptions> = {
  storage: true,
  events: true,
  deps: true,
  summarizer: true,
  context: true,
  progress: true,
  loops: true,
  effects: true,
  toolGuard: true,
  budget: true,
  tools: true,
};

/**
 * All middleware of Longhaul in the right order: run status, budget, loop detection, progress, tool guard, idempotency, context.
 *
 * Place in the chain: your own middleware goes before it, unless it must see the request as the model gets it. Middleware with
 * `wrapToolCall` behind it must not run tools of its own (`assertOrder(agent)` checks).
 *
 * Replay and resume: every part computes from the state and from the storage, so a repeated step does the same; see each part.
 * Without `storage` the ledgers live in memory: effects then do not survive the process, and an event says so.
 *
 * @throws InvalidOptionsError at once, for an unknown key at any level too
 */
export function longhaul<const O extends LonghaulOptions = LonghaulOptions>(
  options?: O & { readonly [K in Exclude<keyof O, keyof LonghaulOptions>]: never },
): LonghaulMiddleware<O> {
  const given: LonghaulOptions = options ?? {};
  checkOptionKeys("options", given, KEYS);
  checkOptionSections(given);
  const { progress, loops, effects, toolGuard, budget, tools, summarizer } = given;
  const deps = withSystemDeps(given.deps);
  const common = { storage: given.storage ?? memoryStorage(deps), events: given.events, deps };
  // The same for the context and for whoever asks before it folds.
  const context = given.context === false ? false : contextFor({ context: given.context, progress, tools });
  const parts = [
    runStatusMiddleware(common),
    budget !== false && budgetMiddleware({ ...budget, ...common, tools }),
    loops !== false && loopDetectionMiddleware({ tools, ...loops, ...common }),
    progress !== false &&
      progressMiddleware({
        ...progress,
        ...common,
        ...(context ? { view: "context", context } : { view: "own" }),
      }),
    toolGuard !== false && toolGuardMiddleware({ ...toolGuard, ...common, tools }),
    effects !== false && idempotencyMiddleware({ ...effects, ...common, tools }),
    context !== false && contextMiddleware({ ...context, ...common, summarizer }),
  ];
  return parts.filter((part) => part !== false) as unknown as LonghaulMiddleware<O>;
}

import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { type BudgetOptions, resolveBudgetOptions } from "../budget/budget-options.ts";
import type { Deps } from "../clock.ts";
import { InvalidOptionsError } from "../errors.ts";
import type { EventSink } from "../events/event.ts";
import { checkOptionKeys, type OptionKeys } from "../option-keys.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import { type BackoffOptions, type ResolvedBackoff, resolveBackoff } from "./backoff.ts";
import type { ErrorClassifier } from "./classify-error.ts";

/** How often a run is recovered. */
export interface RecoveryCaps {
  /** Recoveries of one step, ≥ 0. @default 3 */
  readonly step?: number | undefined;
  /** Recoveries of one run, over all its steps and processes, ≥ 0. @default 5 */
  readonly run?: number | undefined;
}

/**
 * Names what the state refers to and cannot be found any more: files, rows, artifacts. Called with the values of the loaded
 * state before anything runs; costs what it looks up.
 */
export type ReferenceCheck = (
  values: Readonly<Record<string, unknown>>,
) => readonly string[] | Promise<readonly string[]>;

/** Options of `superviseRun` and `superviseStream`. */
export interface SuperviseOptions {
  /**
   * Where run records and leases live. @default the graph's checkpointer if it is a LonghaulStorage, else memory: then
   * attempts are not counted across processes, nothing stops two processes from driving one thread, and an event says so
   */
  readonly storage?: LonghaulStorage | undefined;
  /** @default { step: 3, run: 5 } */
  readonly caps?: RecoveryCaps | undefined;
  /** Waits between attempts. @default 1, 5, 30 s ± 20 % */
  readonly backoff?: BackoffOptions | undefined;
  /** Your own rules for errors, asked before the built-in ones. @default none */
  readonly classify?: ErrorClassifier | undefined;
  /** Hooks that check what the saved state refers to. @default none */
  readonly references?: readonly ReferenceCheck[] | undefined;
  /**
   * What to do when the newest checkpoint cannot be read: end as NEEDS_HUMAN and say which ancestor is sound, or go on from
   * that ancestor (what was done since is done again; effects that were recorded are not). @default "fail"
   */
  readonly onDamagedHead?: "fail" | "parent" | undefined;
  /**
   * What to do when one step failed more often than its cap: end as NEEDS_HUMAN, or answer its unfinished tool calls with an
   * error result and let the model go on. A step without tool calls always stops. @default "stop"
   */
  readonly onStepCap?: "stop" | "skip" | undefined;
  /** Takes up a run that ended as FAILED or NEEDS_HUMAN, with its counts at zero: a person decided so. @default false */
  readonly reopen?: boolean | undefined;
  /**
   * The run's budget, as `budgetMiddleware` has it: its step limit gives the recursion limit, and its prices count for model
   * calls outside the agent's turns. A `recursionLimit` in the config wins. @default room for 500 steps
   */
  readonly budget?: BudgetOptions | undefined;
  /** Life of the lease without a renewal, milliseconds ≥ 1000; it is renewed three times in that time. @default 30000 */
  readonly leaseMs?: number | undefined;
  /**
   * Milliseconds ≥ 100 between two looks for a pause or stop that was asked for from outside (`requestStop`); each is one read.
   * @default 2000
   */
  readonly watchMs?: number | undefined;
  /** Counts model calls; added to the config's callbacks. `false`: none. @default a `longhaulMeter` on the storage */
  readonly meter?: BaseCallbackHandler | false | undefined;
  /** Asks for a pause at the next superstep boundary, as `requestStop` does from another process. To cancel at once, abort the config's own `signal`. @default none */
  readonly signal?: AbortSignal | undefined;
  /** Treat SIGTERM as such a request, and a second SIGTERM as a cancel. @default true */
  readonly drainOnSigterm?: boolean | undefined;
  /** Receives operators' events. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, ids, random; for tests. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
}

/** The options with their defaults, storage and dependencies apart. */
export interface ResolvedSupervision {
  readonly caps: { readonly step: number; readonly run: number };
  readonly backoff: ResolvedBackoff;
  readonly classify: ErrorClassifier | undefined;
  readonly references: readonly ReferenceCheck[];
  readonly onDamagedHead: "fail" | "parent";
  readonly onStepCap: "stop" | "skip";
  readonly reopen: boolean;
  /** Agent steps that the recursion limit leaves room for. */
  readonly steps: number;
  readonly leaseMs: number;
  readonly watchMs: number;
  readonly drainOnSigterm: boolean;
}

/** @throws InvalidOptionsError, BudgetTooSmallError */
export function resolveSuperviseOptions(options: SuperviseOptions): ResolvedSupervision {
  checkOptionKeys("options", options, KEYS);
  checkOptionKeys("caps", options.caps, { step: true, run: true });
  checkOptionKeys("backoff", options.backoff, { delaysMs: true, jitter: true, maxRetryAfterMs: true });
  const { signal } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw new InvalidOptionsError({ option: "signal", value: signal, expected: "an AbortSignal" });
  if (options.references !== undefined && !Array.isArray(options.references))
    throw new InvalidOptionsError({
      option: "references",
      value: options.references,
      expected: "a list of functions",
    });
  return {
    caps: {
      step: atLeast("caps.step", options.caps?.step ?? 3, 0),
      run: atLeast("caps.run", options.caps?.run ?? 5, 0),
    },
    backoff: resolveBackoff(options.backoff),
    classify: options.classify,
    references: options.references ?? [],
    onDamagedHead: oneOf("onDamagedHead", options.onDamagedHead ?? "fail", ["fail", "parent"]),
    onStepCap: oneOf("onStepCap", options.onStepCap ?? "stop", ["stop", "skip"]),
    reopen: options.reopen ?? false,
    steps: options.budget ? (resolveBudgetOptions(options.budget).limits.steps ?? 500) : 500,
    leaseMs: atLeast("leaseMs", options.leaseMs ?? 30_000, 1_000),
    watchMs: atLeast("watchMs", options.watchMs ?? 2_000, 100),
    drainOnSigterm: options.drainOnSigterm ?? true,
  };
}

const KEYS: OptionKeys<SuperviseOptions> = {
  storage: true,
  caps: true,
  backoff: true,
  classify: true,
  references: true,
  onDamagedHead: true,
  onStepCap: true,
  reopen: true,
  budget: true,
  leaseMs: true,
  watchMs: true,
  meter: true,
  signal: true,
  drainOnSigterm: true,
  events: true,
  deps: true,
};

function atLeast(option: string, value: number, minimum: number): number {
  if (Number.isInteger(value) && value >= minimum) return value;
  throw new InvalidOptionsError({ option, value, expected: `a whole number ≥ ${minimum}` });
}

function oneOf<T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw new InvalidOptionsError({ option, value, expected: allowed.map((name) => `"${name}"`).join(" or ") });
}

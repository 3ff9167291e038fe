import { AsyncLocalStorage } from "node:async_hooks";
import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { registerConfigureHook, setContextVariable } from "@langchain/core/context";
import type { Emit } from "../events/event.ts";
import type { ActiveTime } from "./active-time.ts";
import type { BudgetKey, BudgetLedger } from "./budget-ledger.ts";
import type { ResolvedBudget } from "./budget-options.ts";

/**
 * The budget under which the code that is running now spends: opened by an adapter around a model or tool call, and seen by
 * everything called in it, subagents included. The meter records into it, so that nothing counts twice.
 */
export interface BudgetScope {
  readonly ledger: BudgetLedger;
  readonly key: BudgetKey;
  readonly budget: ResolvedBudget;
  readonly activity: ActiveTime;
  readonly emit: Emit;
  /** Reservation made for the first model call in this scope. The meter takes it over; later calls get their own. */
  readonly reservation?: string | undefined;
  /** What the meter saw in this scope. Changed by the meter. */
  readonly seen: SeenCalls;
}

/** The one mutable thing of a scope. */
export interface SeenCalls {
  /** Calls that reached the meter. */
  started: number;
  /** Calls without usable figures from the provider. */
  unmeasured: number;
  /** The reservation of the scope was taken over by a call. */
  claimed: boolean;
}

const scopes = new AsyncLocalStorage<BudgetScope>();

export function newSeenCalls(): SeenCalls {
  return { started: 0, unmeasured: 0, claimed: false };
}

export function currentBudgetScope(): BudgetScope | undefined {
  return scopes.getStore();
}

const METER_VARIABLE = "longhaul_meter";

/**
 * Runs something under a budget, with the meter on every model call in it, at any depth: also on calls that are given
 * callbacks of their own, which a handler in `config.callbacks` would not see. A meter that is installed already (LangChain
 * knows it by name) is not installed twice.
 */
export function runInBudgetScope<T>(
  scope: BudgetScope,
  meter: BaseCallbackHandler,
  run: () => PromiseLike<T> | T,
): Promise<T> {
  return scopes.run(scope, async () => {
    // LangChain sets a context variable for the rest of the running frame. Behind this await the frame is our own, so
    // the caller's is left as it was.
    await undefined;
    registerConfigureHook({ contextVar: METER_VARIABLE });
    setContextVariable(METER_VARIABLE, meter);
    return run();
  });
}

/**
 * Whether a call of about this size still fits in the budget of the running scope, reserve kept. For optional calls, a
 * summary say: one that does not fit is not started. Always true outside a scope. Cost: one storage read.
 */
export async function fitsBudget(tokens: number): Promise<boolean> {
  const scope = currentBudgetScope();
  if (!scope) return true;
  return scope.ledger.fits(scope.key, { tokens }, { budget: scope.budget });
}

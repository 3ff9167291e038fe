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
  /** The scope around this one: a subagent's spending counts for every budget it runs under. */
  readonly parent?: BudgetScope | undefined;
  /** Element key of the tool call that this scope was opened for; part of the run key of an agent called in it. */
  readonly call?: string | undefined;
  /** Reservation made for the first model call in this scope. The meter takes it over; later calls get their own. */
  readonly reservation?: string | undefined;
  /** What the meter saw in this scope. Changed by the meter. */
  readonly seen: SeenCalls;
}

/** The one mutable thing of a scope. */
export interface SeenCalls {
  /** Calls that reached the meter. */
  started: number;
  /** The reservation of the scope was taken over by a call. */
  claimed: boolean;
  /** All input tokens of the newest turn that ended well. */
  turnInput?: number;
}

const scopes = new AsyncLocalStorage<BudgetScope>();

export function newSeenCalls(): SeenCalls {
  return { started: 0, claimed: false };
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

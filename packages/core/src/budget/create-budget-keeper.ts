import type { BaseMessage, ToolCall } from "@langchain/core/messages";
import { ToolMessage } from "@langchain/core/messages";
import type { Deps } from "../clock.ts";
import { DEFAULT_WINDOW } from "../context/context-options.ts";
import { modelNameOf, profileWindow } from "../context/model-profile.ts";
import type { EventSink } from "../events/event.ts";
import { elementKey, isAssistant } from "../messages/groups.ts";
import { graphPlaceOf, type NodeConfig, runNameOf, threadIdOf } from "../state/node-config.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import { BudgetKeeper, type ModelCallInput, type ToolCallInput } from "./budget-keeper.ts";
import { toolCallRefusal } from "./budget-notices.ts";
import { type BudgetOptions, resolveBudgetOptions } from "./budget-options.ts";
import { agentOf } from "./call-metadata.ts";
import { longhaulMeter } from "./meter.ts";

/** A keeper with the meter it needs, on a storage. @throws InvalidOptionsError, BudgetTooSmallError */
export function createBudgetKeeper(parts: {
  readonly storage: LonghaulStorage;
  readonly budget: BudgetOptions;
  readonly events?: EventSink | undefined;
  readonly deps: Deps;
  /** Supersteps between a final answer and the end of the graph. @default 0 */
  readonly closingSupersteps?: number | undefined;
}): BudgetKeeper {
  const { storage, budget, events, deps, closingSupersteps } = parts;
  return new BudgetKeeper({
    ledger: storage.budgets,
    budget: resolveBudgetOptions(budget),
    meter: longhaulMeter({ storage, budget, events, deps }),
    deps,
    closingSupersteps,
  });
}

/** What LangGraph and the model say about a model call that a budget is to plan. */
export function modelCallOf(
  config: NodeConfig,
  model: unknown,
): Pick<ModelCallInput, "thread" | "run" | "place" | "agent" | "signal" | "window" | "model"> {
  return {
    thread: threadIdOf(config),
    run: runNameOf(config),
    place: graphPlaceOf(config),
    agent: agentOf(config.metadata),
    signal: config.signal,
    window: profileWindow(model) ?? DEFAULT_WINDOW,
    model: modelNameOf(model),
  };
}

/** What a budget counts of a tool call of the last assistant message. */
export function toolCallOf(
  config: NodeConfig,
  messages: readonly BaseMessage[],
  call: Pick<ToolCall, "id" | "name">,
): Omit<ToolCallInput, "emit"> {
  const asking = messages.findLast(isAssistant);
  return {
    thread: threadIdOf(config),
    run: runNameOf(config),
    messages,
    tool: call.name,
    call: asking ? elementKey(asking, call.id) : (call.id ?? call.name),
  };
}

/** The error result of a call that is not run because no more are in the budget. */
export function refusedCall(call: Pick<ToolCall, "id" | "name">, limit: number): ToolMessage {
  return new ToolMessage({
    content: toolCallRefusal(limit),
    name: call.name,
    tool_call_id: call.id ?? "",
    status: "error",
  });
}

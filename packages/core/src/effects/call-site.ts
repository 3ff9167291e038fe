import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Emit } from "../events/event.ts";
import { canonicalJson, digestText } from "../json/canonical-json.ts";
import { taskInput } from "../state/task-input.ts";
import type { ToolTraits } from "../tools/tool-options.ts";
import type { CurrentEffect } from "./current-effect.ts";
import { agentPathOf, type CallSite, type LocatedCall, locateCall } from "./effect-key.ts";

/** One call of a guarded tool. */
export interface GuardedCall {
  readonly traits: ToolTraits;
  /** Id that the answer goes to; undefined when there is none to answer. */
  readonly callId: string | undefined;
  /** The id is this call's own, and not that of a tool which passed its config on. */
  readonly ownId: boolean;
  /** Invoked with a tool call, so that it answers with a tool message. */
  readonly answersCall: boolean;
  /** As they reached the tool. */
  readonly args: unknown;
  readonly config: ToolCallConfig;
  readonly emit: Emit;
}

/** What LangGraph puts into a tool's config. */
export interface ToolCallConfig extends RunnableConfig {
  readonly executionInfo?: {
    readonly threadId?: string | undefined;
    readonly checkpointId?: string | undefined;
    readonly checkpointNs?: string | undefined;
    readonly taskId?: string | undefined;
    readonly nodeAttempt?: number | undefined;
  };
  readonly state?: unknown;
  readonly toolCall?: { readonly id?: string | undefined };
}

export interface Whereabouts {
  readonly site: CallSite;
  readonly agentPath: readonly string[];
  /** Arguments as the history has them; undefined when the call is in none. */
  readonly located: LocatedCall | undefined;
}

export function threadOf(config: ToolCallConfig): string {
  const configured: unknown = config.executionInfo?.threadId ?? config.configurable?.thread_id;
  return configured === undefined || configured === null ? "" : String(configured);
}

export function namespaceOf(config: ToolCallConfig): string {
  const configured: unknown = config.executionInfo?.checkpointNs ?? config.configurable?.checkpoint_ns;
  return typeof configured === "string" ? configured : "";
}

export function taskOf(config: ToolCallConfig): string | undefined {
  return config.executionInfo?.taskId;
}

/** Whether the graph runs again what a crash or an interrupt cut off. */
export function isResuming(config: ToolCallConfig): boolean {
  return config.configurable?.__pregel_resuming === true;
}

/** Where a call stands: by its place in the history, else by its graph task, else it is an intent of its own. */
export function whereabouts(
  call: GuardedCall,
  parent: CurrentEffect | undefined,
  newId: () => string,
): Whereabouts {
  const { config, callId, args, traits } = call;
  const agentName = (config.metadata as { lc_agent_name?: unknown } | undefined)?.lc_agent_name;
  const path = agentPathOf(
    namespaceOf(config),
    typeof agentName === "string" ? agentName : undefined,
    parent?.key,
  );
  const state: unknown = taskInput(config);
  const messages = Array.isArray(state) ? state : (state as { messages?: unknown }).messages;
  const located =
    call.ownId && callId !== undefined && Array.isArray(messages)
      ? locateCall(messages as BaseMessage[], {
          id: callId,
          name: traits.name,
          args: args as Record<string, unknown>,
        })
      : undefined;
  if (!located) return { agentPath: path, located, site: taskSite(call, parent, newId) };
  const { turn, ordinal, firstAnswer, ask } = located;
  return {
    located,
    // What was asked is a part: children of one graph have namespaces that differ by random ids only, and a fork that says something
    // else at the same turn wants something else.
    agentPath: [...path, digestText(ask)],
    site: threadOf(config) ? { turn, ordinal } : { turn, ordinal, run: firstAnswer ?? newId() },
  };
}

function taskSite(call: GuardedCall, parent: CurrentEffect | undefined, newId: () => string): CallSite {
  const task = taskOf(call.config);
  if (call.ownId && call.callId !== undefined && task !== undefined) return { task, call: call.callId };
  const execution: unknown = parent ?? call.config.configurable?.__pregel_scratchpad;
  if (typeof execution !== "object" || execution === null) return { task: newId(), call: "" };
  return { task: parent ? "" : (task ?? ""), call: `#${nthEqualCall(execution, call)}` };
}

/** Calls without ids of their own: counted per run of the tool or node around them, which repeats them in the same order. */
const counters = new WeakMap<object, Map<string, number>>();

function nthEqualCall(execution: object, call: GuardedCall): number {
  const counts = counters.get(execution) ?? new Map<string, number>();
  counters.set(execution, counts);
  const same = canonicalJson([call.config.executionInfo?.nodeAttempt, call.traits.name, call.args]);
  const count = counts.get(same) ?? 0;
  counts.set(same, count + 1);
  return count;
}

import { getConfig } from "@langchain/langgraph";
import type { GraphPlace } from "../budget/graph-rooms.ts";
import type { Clock } from "../clock.ts";
import { type Emit, type EventOrigin, type EventSink, emitter } from "../events/event.ts";

/** What LangGraph says of the node or tool that is running, as far as Longhaul reads it. Everything is absent outside a graph. */
export interface NodeConfig {
  /** Stream writer: every invocation of a graph has its own, which tells them apart. */
  readonly writer?: object | undefined;
  readonly recursionLimit?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
  readonly executionInfo?: { readonly threadId?: string; readonly checkpointNs?: string } | undefined;
  readonly callbacks?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** LangGraph's config of the moment. A middleware's `runtime` lacks most of it. */
export function nodeConfig(): NodeConfig {
  try {
    return (getConfig() ?? {}) as NodeConfig;
  } catch {
    return {};
  }
}

/** Id of the thread, `""` without one. */
export function threadIdOf({ executionInfo, configurable }: NodeConfig): string {
  return executionInfo?.threadId ?? textOf(configurable?.thread_id) ?? "";
}

/** Name of the run that supervision gave, `configurable.longhaul_run`. */
export function runNameOf({ configurable }: NodeConfig): string | undefined {
  return textOf(configurable?.longhaul_run);
}

/** Where in LangGraph the config's node stands. */
export function graphPlaceOf(config: NodeConfig): GraphPlace {
  const superstep = config.metadata?.langgraph_step;
  return {
    invocation: config.writer,
    namespace: textOf(config.configurable?.checkpoint_ns) ?? "",
    superstep: typeof superstep === "number" ? superstep : undefined,
    recursionLimit: config.recursionLimit,
  };
}

/**
 * Emits with the origin of the running node. Thread and namespace are read now: a callback that emits later does not see the
 * node's config.
 */
export function currentEmitter(sink: EventSink | undefined, clock: Clock, step?: number): Emit {
  const config = nodeConfig();
  const origin: Omit<EventOrigin, "time"> = {
    threadId: threadIdOf(config),
    namespace: config.executionInfo?.checkpointNs ?? textOf(config.configurable?.checkpoint_ns) ?? "",
    ...(step === undefined ? {} : { step }),
  };
  return emitter(sink, () => ({ time: clock.now(), ...origin }));
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { METER_NAME } from "../budget/meter.ts";
import { nodeConfig } from "../state/node-config.ts";

/**
 * The meter of the running graph, and nothing else: what a summariser's calls are given, so that they are counted and none of their tokens
 * reaches a user's stream or tracer. Empty outside a graph and without a meter.
 */
export function meterCallbacks(): BaseCallbackHandler[] {
  const { callbacks } = nodeConfig();
  const handlers = Array.isArray(callbacks)
    ? callbacks
    : ((callbacks as { handlers?: unknown[] } | undefined)?.handlers ?? []);
  return (handlers as (BaseCallbackHandler | undefined)[]).filter(
    (handler): handler is BaseCallbackHandler => handler?.name === METER_NAME,
  );
}

import { nodeConfig } from "./node-config.ts";

interface ToolConfig {
  readonly state?: unknown;
  readonly configurable?: { readonly __pregel_scratchpad?: { readonly currentTaskInput?: unknown } };
}

/**
 * The graph state that a running tool was given: `config.state` where a tool node passes it, else the input of the
 * running task. Empty when the tool runs outside a graph.
 */
export function taskInput(config?: unknown): Readonly<Record<string, unknown>> {
  const given = (config ?? nodeConfig()) as ToolConfig | undefined;
  const state = given?.state ?? given?.configurable?.__pregel_scratchpad?.currentTaskInput;
  return typeof state === "object" && state !== null ? (state as Record<string, unknown>) : {};
}

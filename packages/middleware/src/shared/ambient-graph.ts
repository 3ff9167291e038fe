import { getConfig } from "@langchain/langgraph";
import type { GraphPlace } from "@longhaul/core";

interface NodeConfig {
  readonly writer?: object | undefined;
  readonly recursionLimit?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly configurable?: { readonly checkpoint_ns?: string } | undefined;
}

/** Where in LangGraph the running hook stands. Each invocation of a graph has a stream writer of its own, which tells them apart. */
export function ambientGraph(): GraphPlace & { readonly metadata?: Readonly<Record<string, unknown>> } {
  const config = nodeConfig();
  const superstep = config.metadata?.langgraph_step;
  return {
    invocation: config.writer,
    namespace: config.configurable?.checkpoint_ns ?? "",
    superstep: typeof superstep === "number" ? superstep : undefined,
    recursionLimit: config.recursionLimit,
    ...(config.metadata ? { metadata: config.metadata } : {}),
  };
}

function nodeConfig(): NodeConfig {
  try {
    return (getConfig() ?? {}) as NodeConfig;
  } catch {
    return {};
  }
}

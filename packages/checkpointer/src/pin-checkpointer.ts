import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { InvalidOptionsError } from "@longhaul/core";

/**
 * Keeps a saver on a compiled graph (or an agent of `createAgent`) under a server that would put its own in its place: LangGraph's dev
 * server keeps all threads in one JSON file, which it rewrites whole and which breaks on long runs.
 *
 * The graph is returned, the same object. Runs, state edits and history go to your saver then; what the server itself deletes
 * or copies touches only its own.
 *
 * @throws InvalidOptionsError when it is no compiled graph
 */
export function pinCheckpointer<G extends object>(graph: G, saver: BaseCheckpointSaver): G {
  // An agent holds the graph that the server unwraps and runs.
  const inner = (graph as { readonly graph?: unknown }).graph;
  const target = typeof inner === "object" && inner !== null ? inner : graph;
  if (typeof (target as { readonly invoke?: unknown }).invoke !== "function") {
    throw new InvalidOptionsError({
      option: "graph",
      value: graph,
      expected: "a compiled graph or an agent",
    });
  }
  Object.defineProperty(target, "checkpointer", {
    configurable: true,
    enumerable: true,
    get: () => saver,
    set: () => {},
  });
  return graph;
}

import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidOptionsError } from "../errors.ts";

/**
 * A compiled graph, an agent of `createAgent` or an `entrypoint` of the functional API: whatever has these methods. The parameter types are left open, every graph
 * has its own. The agent's own `invoke` is used, not that of the graph inside it, which lacks its middleware's defaults.
 */
export interface SupervisableGraph {
  invoke(input: never, config?: never): Promise<unknown>;
  stream(input: never, config?: never): Promise<AsyncIterable<unknown>>;
}

/** What LangGraph tells about a pending task of a checkpoint. */
interface TaskView {
  readonly name: string;
  readonly error?: unknown;
  readonly result?: unknown;
  readonly interrupts?: readonly PendingInterrupt[] | undefined;
}

export interface PendingInterrupt {
  readonly id?: string | undefined;
  readonly value?: unknown;
}

/** A state snapshot, as far as supervision reads it. */
export interface StateView {
  /** By channel; of an entrypoint what it returned, null before. */
  readonly values: unknown;
  /** Tasks that the next superstep runs or resumes. Unlike `next` it still names a task that has been answered but failed. */
  readonly tasks: readonly TaskView[];
  readonly metadata?: { readonly step?: number | undefined } | undefined;
  readonly config: RunnableConfig;
}

/** The checkpointer behind a graph, as far as supervision asks it. */
export interface SaverView {
  getTuple(
    config: RunnableConfig,
  ): Promise<
    { readonly pendingWrites?: readonly (readonly [string, string, unknown])[] | undefined } | undefined
  >;
}

/** The same graph with the parameter types that supervision uses. */
export interface GraphDriver {
  invoke(input: unknown, config: RunnableConfig): Promise<unknown>;
  stream(input: unknown, config: RunnableConfig): Promise<AsyncIterable<unknown>>;
  getState(config: RunnableConfig): Promise<StateView>;
  getStateHistory(config: RunnableConfig, options?: object): AsyncIterable<StateView>;
  updateState(config: RunnableConfig, values: unknown, asNode?: string): Promise<RunnableConfig>;
  readonly checkpointer?: unknown;
}

/** @throws InvalidOptionsError when it is no graph, or has no checkpointer to resume from */
export function graphDriver(graph: SupervisableGraph): {
  readonly driver: GraphDriver;
  readonly saver: SaverView;
} {
  const driver = graph as unknown as GraphDriver;
  const methods = ["invoke", "stream", "getState", "getStateHistory", "updateState"] as const;
  if (!methods.every((name) => typeof driver?.[name] === "function")) {
    throw new InvalidOptionsError({
      option: "graph",
      value: graph,
      expected: "a compiled StateGraph, an agent of createAgent or an entrypoint",
    });
  }
  const saver = driver.checkpointer as SaverView | undefined;
  if (typeof saver?.getTuple !== "function") {
    throw new InvalidOptionsError({
      option: "graph.checkpointer",
      value: driver.checkpointer,
      expected: "a checkpointer: a run without one cannot be resumed",
    });
  }
  return { driver, saver };
}

/** Rough number of supersteps that one agent step can take: each node once. */
export function superstepsPerStep(graph: SupervisableGraph): number {
  const { nodes, graph: inner } = graph as { nodes?: object; graph?: { nodes?: object } };
  return Math.max(2, Object.keys(nodes ?? inner?.nodes ?? {}).length);
}

import type { RunnableConfig } from "@langchain/core/runnables";

/** What a loaded state looks like, as far as supervision reads it. */
export interface StateView {
  readonly values: Readonly<Record<string, unknown>>;
  readonly next: readonly string[];
  readonly tasks: readonly {
    readonly id?: string;
    readonly name: string;
    readonly error?: unknown;
    readonly interrupts?: readonly { readonly id?: string; readonly value?: unknown }[];
  }[];
  readonly metadata?: { readonly step?: number; readonly source?: string } | undefined;
  readonly config: RunnableConfig;
  readonly parentConfig?: RunnableConfig | undefined;
}

/**
 * A compiled graph or an agent of `createAgent`: whatever has these methods. The agent's own `invoke` is used, not that of
 * the graph inside, because it fills in its middleware's defaults.
 */
export interface SupervisableGraph {
  invoke(input: never, config?: never): Promise<unknown>;
  stream(input: never, config?: never): Promise<AsyncIterable<unknown>>;
  getState(config: never): Promise<unknown>;
  updateState(config: never, values: never, asNode?: never): Promise<unknown>;
}

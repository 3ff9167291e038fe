import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { getConfig } from "@langchain/langgraph";
import {
  type ContextOptions,
  type Deps,
  type Emit,
  type EventOrigin,
  type EventSink,
  emitter,
  type GraphPlace,
  type LonghaulStorage,
  type ProgressOptions,
} from "@longhaul/core";

/** Options that every node of Longhaul takes. */
export interface NodeOptions {
  /** Where ledgers and artifacts live. @default in memory, as long as the process */
  readonly storage?: LonghaulStorage | undefined;
  /** Receives operators' events; called synchronously, must be quick and not throw. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, ids, random; for tests. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
}

/** Options of the nodes that build requests. Give `contextNode`, `summarizeNode` and `modelNode` of a graph the same. */
export interface RequestOptions extends NodeOptions {
  /** @default {} */
  readonly context?: ContextOptions | undefined;
  /** Options of the progress tools; false when the graph has none. @default {} */
  readonly progress?: ProgressOptions | false | undefined;
  /** Model that writes summaries. @default none: summaries are made by rule, offline */
  readonly summarizer?: BaseChatModel | undefined;
  /** System prompt. @default the leading system messages of the history */
  readonly systemPrompt?: string | undefined;
  /** Tools that the model is offered; their schemas count as tokens. @default none */
  readonly tools?: readonly unknown[] | undefined;
  /** The agent's model, for the window in its profile. @default unknown */
  readonly model?: unknown;
}

interface NodeConfig {
  readonly writer?: object | undefined;
  readonly recursionLimit?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** LangGraph's config of the running node. */
export function nodeConfig(): NodeConfig {
  return (getConfig() ?? {}) as NodeConfig;
}

export function threadOf({ configurable }: NodeConfig): string {
  return String(configurable?.thread_id ?? "");
}

export function originOf(config: NodeConfig, now: number, step?: number): EventOrigin {
  return {
    time: now,
    threadId: threadOf(config),
    namespace: String(config.configurable?.checkpoint_ns ?? ""),
    ...(step === undefined ? {} : { step }),
  };
}

export function nodeEmitter(options: NodeOptions, deps: Deps, step?: number): Emit {
  const config = nodeConfig();
  return emitter(options.events, () => originOf(config, deps.clock.now(), step));
}

/** Where in LangGraph the running node stands, for the step limit. */
export function graphPlace(config: NodeConfig): GraphPlace {
  const superstep = config.metadata?.langgraph_step;
  return {
    invocation: config.writer,
    namespace: String(config.configurable?.checkpoint_ns ?? ""),
    superstep: typeof superstep === "number" ? superstep : undefined,
    recursionLimit: config.recursionLimit,
  };
}

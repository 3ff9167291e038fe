import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type {
  BudgetOptions,
  ContextOptions,
  Deps,
  EventSink,
  LonghaulStorage,
  ProgressOptions,
  ToolOptionsMap,
} from "@longhaul/core";

/** Options that every node of Longhaul takes. */
export interface NodeOptions {
  /** Where ledgers and artifacts live. @default in memory, as long as the process */
  readonly storage?: LonghaulStorage | undefined;
  /** Receives operators' events; called synchronously, must be quick and not throw. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, ids, random; for tests. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
  /** What belongs to one tool, by name: effect, time-out, polling, … Give all nodes of a graph the same. @default {} */
  readonly toolOptions?: ToolOptionsMap | undefined;
}

/** The budget of a graph, and the model that goes on when it gets short. */
export interface NodeBudget extends BudgetOptions {
  /** Model for the steps from level "essential" on. @default the agent's own */
  readonly cheaperModel?: BaseChatModel | undefined;
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

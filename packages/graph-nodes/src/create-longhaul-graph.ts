import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import {
  type ContextOptions,
  checkOptionKeys,
  checkOptionSections,
  createCheckpointTool,
  createRecallTool,
  createResetTool,
  type EffectOptions,
  type LoopOptions,
  type ModelLimitOptions,
  memoryStorage,
  type OptionKeys,
  type ProgressOptions,
  resolveContextOptions,
  type ToolLimitOptions,
  withSystemDeps,
} from "@longhaul/core";
import { contextNode } from "./context-node.ts";
import { guardNode } from "./guard-node.ts";
import { LonghaulState } from "./longhaul-state.ts";
import { modelNode } from "./model-node.ts";
import type { NodeBudget, NodeOptions } from "./node-options.ts";
import { routeAfterGuard, routeAfterModel } from "./routes.ts";
import { toolsNode } from "./tools-node.ts";

export interface LonghaulGraphOptions extends NodeOptions {
  readonly model: BaseChatModel;
  /** The agent's tools; Longhaul's `checkpoint`, `reset` and `recall` are added. */
  readonly tools: readonly unknown[];
  readonly systemPrompt?: string | undefined;
  /** Model that writes summaries. @default none: summaries are made by rule, offline */
  readonly summarizer?: BaseChatModel | undefined;
  /** @default {} */
  readonly context?: ContextOptions | undefined;
  /** Tools `checkpoint` and `reset`; false: none. @default {} */
  readonly progress?: ProgressOptions | false | undefined;
  /** Loop detection; false: none. @default {} */
  readonly loops?: LoopOptions | false | undefined;
  /** Side effects once; false: not guarded. @default {} */
  readonly effects?: EffectOptions | false | undefined;
  /** Time-out, retry, concurrency of tools; false: none. @default {} */
  readonly toolGuard?: (ToolLimitOptions & ModelLimitOptions) | false | undefined;
  /** @default { preset: "medium" }; false: none */
  readonly budget?: NodeBudget | false | undefined;
}

const KEYS: OptionKeys<LonghaulGraphOptions> = {
  model: true,
  tools: true,
  systemPrompt: true,
  summarizer: true,
  storage: true,
  events: true,
  deps: true,
  toolOptions: true,
  context: true,
  progress: true,
  loops: true,
  effects: true,
  toolGuard: true,
  budget: true,
};

/**
 * The whole loop as a visible graph, uncompiled, so that nodes and edges can be added before `compile({ checkpointer })`:
 *
 *   START → guard → context → model → tools → guard → …, the end from guard (sealed) or model (final answer)
 *
 * An agent step is four supersteps, each a checkpoint. Input and output are `messages` alone; Longhaul's channels show in
 * `getState()` and in Studio. What each node does on replay and resume is said at the node. Give `superviseRun` the compiled graph.
 *
 * @throws InvalidOptionsError, BudgetTooSmallError at once, for an unknown key at any level too
 */
export function createLonghaulGraph(options: LonghaulGraphOptions) {
  checkOptionKeys("options", options, KEYS);
  checkOptionSections(options);
  const { progress } = options;
  const deps = withSystemDeps(options.deps);
  // One for all nodes: a budget that counts calls of tools has to be the one that the model's calls draw on.
  const storage = options.storage ?? memoryStorage(deps);
  const { recallTool } = resolveContextOptions(options.context);
  const events = { events: options.events, deps };
  const tools = [
    ...options.tools,
    ...(progress === false
      ? []
      : [createCheckpointTool({ ...progress, ...events }), createResetTool({ ...progress, ...events })]),
    createRecallTool({ artifacts: storage.artifacts, name: recallTool }),
  ];
  const shared = { ...options, deps, storage, tools, budget: options.budget ?? {} };
  const messages = new StateSchema({ messages: MessagesValue });
  return new StateGraph({ state: LonghaulState, input: messages, output: messages })
    .addNode("guard", guardNode(shared), described("Ends loops and runs without progress, leaves hints"))
    .addNode(
      "context",
      contextNode(shared),
      described("Folds if due and builds the request: goal, memory, steps"),
    )
    .addNode("model", modelNode(shared), described("Calls the model within the budget"))
    .addNode("tools", toolsNode(tools, shared), described("Runs one tool call: its effect once, in time"))
    .addEdge(START, "guard")
    .addConditionalEdges("guard", routeAfterGuard, ["context", "__end__"])
    .addEdge("context", "model")
    .addConditionalEdges("model", routeAfterModel, ["tools", "__end__"])
    .addEdge("tools", "guard");
}

/** Shown by graph viewers beside the node. */
function described(description: string): { metadata: { description: string } } {
  return { metadata: { description } };
}

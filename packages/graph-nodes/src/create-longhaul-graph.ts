import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, type ToolCall, ToolMessage } from "@langchain/core/messages";
import {
  isGraphBubbleUp,
  type LangGraphRunnableConfig,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import {
  BudgetKeeper,
  type BudgetOptions,
  blockedCall,
  type ContextOptions,
  createCheckpointTool,
  createRecallTool,
  createResetTool,
  declaresEffect,
  type EffectOptions,
  elementKey,
  isAssistant,
  type LoopOptions,
  longhaulMeter,
  memoryStorage,
  type ProgressOptions,
  readLoops,
  resolveBudgetOptions,
  type ToolLimitOptions,
  type ToolOptionsMap,
  toolCallRefusal,
  withSystemDeps,
} from "@longhaul/core";
import { contextNode } from "./context-node.ts";
import { guardNode } from "./guard-node.ts";
import { type LonghaulNodeState, LonghaulState } from "./longhaul-state.ts";
import { modelNode } from "./model-node.ts";
import { type NodeOptions, nodeConfig, nodeEmitter, threadOf } from "./node-options.ts";
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
  readonly toolGuard?: ToolLimitOptions | false | undefined;
  /** @default { preset: "medium" }; false: none */
  readonly budget?:
    | (BudgetOptions & { readonly cheaperModel?: BaseChatModel | undefined })
    | false
    | undefined;
  /** What belongs to one tool, by name: effect, time-out, polling, … @default {} */
  readonly toolOptions?: ToolOptionsMap | undefined;
}

/**
 * The whole loop as a visible graph, uncompiled, so that nodes and edges can be added before `compile({ checkpointer })`:
 *
 *   START → guard → context → model → tools → guard → …, the end from guard (sealed) or model (final answer)
 *
 * An agent step is four supersteps, each a checkpoint. Input and output are `messages` alone; Longhaul's channels show in
 * `getState()` and in Studio. What each node does on replay and resume is said at the node. Give `superviseRun` the compiled graph.
 *
 * @throws InvalidOptionsError, BudgetTooSmallError at once
 */
export function createLonghaulGraph(options: LonghaulGraphOptions) {
  const { progress, loops, toolOptions = {} } = options;
  const deps = withSystemDeps(options.deps);
  const storage = options.storage ?? memoryStorage(deps);
  const own = [
    ...(progress === false ? [] : [createCheckpointTool(progress), createResetTool(progress)]),
    createRecallTool({
      artifacts: storage.artifacts,
      ...(options.context?.recallTool ? { name: options.context.recallTool } : {}),
    }),
  ];
  const tools = [...options.tools, ...own];
  const context = {
    ...options.context,
    summary: { isEffect: declaresEffect(toolOptions), ...options.context?.summary },
  };
  const request = { ...options, storage, deps, tools, context };
  const optionalTools = Object.keys(toolOptions).filter((name) => toolOptions[name]?.optional);
  const messages = new StateSchema({ messages: MessagesValue });
  return new StateGraph({ state: LonghaulState, input: messages, output: messages })
    .addNode("guard", guardNode({ ...options, deps, loops: withTools(loops, toolOptions) }) as never)
    .addNode("context", contextNode(request) as never)
    .addNode("model", modelNode({ ...request, loops, optionalTools }) as never)
    .addNode("tools", callNode({ ...options, storage: options.storage, deps, tools }) as never)
    .addEdge(START, "guard")
    .addConditionalEdges("guard", routeAfterGuard as never, ["context", "__end__"])
    .addEdge("context", "model")
    .addConditionalEdges("model", routeAfterModel as never, ["tools", "__end__"])
    .addEdge("tools", "guard");
}

function withTools(loops: LoopOptions | false | undefined, tools: ToolOptionsMap): LoopOptions | false {
  return loops === false ? false : { tools, ...loops };
}

/** `toolsNode` for one call, with what the other concerns say about it: blocked as a loop, counted by the budget. */
function callNode(options: LonghaulGraphOptions) {
  const deps = withSystemDeps(options.deps);
  const run = toolsNode(options.tools, {
    storage: options.storage,
    tools: options.toolOptions,
    effects: options.effects,
    limits: options.toolGuard,
    events: options.events,
    deps,
  });
  const loops = withTools(options.loops, options.toolOptions ?? {});
  const storage = options.storage ?? memoryStorage(deps);
  const { budget } = options;
  const keeper =
    budget === false
      ? undefined
      : new BudgetKeeper({
          ledger: storage.budgets,
          budget: resolveBudgetOptions(budget ?? {}),
          meter: longhaulMeter({ storage, budget: budget ?? {}, events: options.events, deps }),
          deps,
        });
  return async (
    state: LonghaulNodeState & { readonly lg_tool_call?: ToolCall },
    config?: LangGraphRunnableConfig,
  ) => {
    const call = state.lg_tool_call;
    if (!call) return run(state, config);
    const emit = nodeEmitter(options, deps);
    const refused = loops === false ? undefined : blockedCall(readLoops(state._longhaulLoops), call, loops);
    if (refused) {
      emit({ type: "loop.blocked", tool: call.name });
      return { messages: [refused] };
    }
    if (!keeper) return run(state, config);
    const { configurable } = nodeConfig();
    const asking = state.messages.findLast(isAssistant);
    return keeper.tool<unknown>(
      {
        thread: threadOf(nodeConfig()),
        run: typeof configurable?.longhaul_run === "string" ? configurable.longhaul_run : undefined,
        messages: state.messages as readonly BaseMessage[],
        tool: call.name,
        call: asking ? elementKey(asking, call.id) : (call.id ?? call.name),
        isSuspension: isGraphBubbleUp,
        emit,
      },
      () => run(state, config),
      (limit) => ({
        messages: [
          new ToolMessage({
            content: toolCallRefusal(limit),
            name: call.name,
            tool_call_id: call.id ?? "",
            status: "error",
          }),
        ],
      }),
    );
  };
}

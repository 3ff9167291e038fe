import type { AIMessage, BaseMessage, ToolCall, ToolMessage } from "@langchain/core/messages";
import {
  Command,
  GraphInterrupt,
  getConfig,
  isCommand,
  isGraphInterrupt,
  type LangGraphRunnableConfig,
  type Send,
  task,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import {
  assertPermitted,
  blockedCall,
  createBudgetKeeper,
  currentEmitter,
  type EffectOptions,
  guardTools,
  isAssistant,
  isForModel,
  type LonghaulValues,
  type LoopOptions,
  memoryStorage,
  nodeConfig,
  readLoops,
  readRunState,
  refusedCall,
  type ToolLimitOptions,
  toolCallOf,
  toolErrorMessage,
  withSystemDeps,
} from "@longhaul/core";
import type { NodeBudget, NodeOptions } from "./node-options.ts";

/** Options of the node; it needs none. */
export interface ToolsNodeOptions extends NodeOptions {
  /** Side effects once; false: not guarded. @default {} */
  readonly effects?: EffectOptions | false | undefined;
  /** Time-out, retry, concurrency of tools; false: none. @default {} */
  readonly toolGuard?: ToolLimitOptions | false | undefined;
  /** Calls that `guardNode` found to be a loop are answered instead of run; false: they are run. @default {} */
  readonly loops?: LoopOptions | false | undefined;
  /** Counts tool calls, and what models in tools take, to the run's budget; the same as `modelNode` has. @default false */
  readonly budget?: NodeBudget | false | undefined;
}

type Tools = ConstructorParameters<typeof ToolNode>[0];
type Output = ToolMessage | Command;
type NodeOutput = { messages: Output[] } | ({ messages: Output[] } | Command)[];
type RunCall = (call: ToolCall, state: unknown, config: LangGraphRunnableConfig) => Promise<Output>;

/**
 * A node that runs the tool calls of the last assistant message which have no result yet, at once, each guarded: its effect
 * happens once, it ends in time, and it is retried where that is safe.
 *
 * Tools get what LangGraph's own tool node gives them: `state`, `toolCallId`, `store`, `context`, `writer` and the config in
 * the second argument; they may return Commands and call `interrupt`. A tool's error becomes an error result.
 *
 * Each call is a task of its own: when one pauses for a human or the process dies, the finished ones are not run again, and each
 * question gets its own answer. A stream of `updates` shows those tasks as `tool_call`, before the node's own update. Reached by a `Send` with `lg_tool_call` in the state, the node runs that call alone.
 *
 * On replay and resume the effect ledger decides for each call that was cut off; see `guardTools` for what it stores and throws.
 *
 * @throws InvalidOptionsError at once; at a call ForbiddenMoveError when `_longhaulRun` says that the run is over, StateFormatError
 */
export function toolsNode(tools: readonly unknown[], options: ToolsNodeOptions = {}) {
  const runCall = guardedCall(tools, options);
  return async (state: unknown, config?: LangGraphRunnableConfig): Promise<NodeOutput> => {
    const own = (state as { lg_tool_call?: ToolCall }).lg_tool_call;
    if (own) return combine([await runCall(own, state, config ?? {})]);
    const calls = openCalls(messagesOf(state));
    if (!canSpawn(config)) {
      return combine(await settle(calls.map((call) => runCall(call, state, config ?? {}))));
    }
    return combine(
      await settle(
        calls.map((call) => {
          const run = task({ name: "tool_call" }, () => runCall(call, state, taskConfig(state)));
          return run() as unknown as Promise<Output>;
        }),
      ),
    );
  };
}

/** One call, with what every concern says about it: not in a run that is over, not as part of a loop, not beyond the budget. */
function guardedCall(tools: readonly unknown[], options: ToolsNodeOptions): RunCall {
  const { events, toolOptions, effects, toolGuard, budget } = options;
  const deps = withSystemDeps(options.deps);
  const storage = options.storage ?? memoryStorage(deps);
  const guarded = guardTools(tools, {
    storage,
    tools: toolOptions,
    effects,
    limits: toolGuard,
    events,
    deps,
  });
  const node = new ToolNode(guarded as unknown as Tools, { handleToolErrors: false });
  const keeper = budget && createBudgetKeeper({ storage, budget, events, deps });
  const loops = options.loops === false ? undefined : { tools: toolOptions, ...options.loops };

  return async (call, state, config) => {
    const { _longhaulRun, _longhaulLoops } = state as LonghaulValues;
    const { status } = readRunState(_longhaulRun);
    // A model node of one's own leaves the run as `guardNode` put it, which is RUNNING.
    if (_longhaulRun && status !== "RUNNING") assertPermitted(status, "tool");
    const emit = currentEmitter(events, deps.clock);
    const refused = loops && blockedCall(readLoops(_longhaulLoops), call, loops);
    if (refused) {
      emit({ type: "loop.blocked", tool: call.name });
      return refused;
    }
    if (!keeper) return runCall(node, call, state, config);
    return keeper.tool<Output>(
      { ...toolCallOf(nodeConfig(), messagesOf(state), call), emit },
      () => runCall(node, call, state, config),
      (limit) => refusedCall(call, limit),
    );
  };
}

/** Calls of the last assistant message without a result behind it. Call ids repeat in a thread: earlier results are not theirs. */
function openCalls(messages: readonly BaseMessage[]): ToolCall[] {
  const at = messages.findLastIndex((message) => isAssistant(message));
  const answered = new Set(
    messages.slice(at + 1).map((message) => (message as Partial<ToolMessage>).tool_call_id),
  );
  const calls = (messages[at] as AIMessage | undefined)?.tool_calls ?? [];
  return calls.filter(({ id }) => id === undefined || !answered.has(id));
}

function messagesOf(state: unknown): readonly BaseMessage[] {
  const messages = Array.isArray(state) ? state : (state as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(messages)) throw new TypeError("toolsNode needs a state with `messages`.");
  return messages as BaseMessage[];
}

async function runCall(
  node: ToolNode,
  call: ToolCall,
  state: unknown,
  config: LangGraphRunnableConfig,
): Promise<Output> {
  try {
    const given = Array.isArray(state) ? { messages: state as BaseMessage[] } : (state as object);
    const output: unknown = await node.invoke({ ...given, lg_tool_call: call }, config);
    return (Array.isArray(output) ? output[0] : (output as { messages: Output[] }).messages[0]) as Output;
  } catch (error) {
    if (!isForModel(error, config.signal)) throw error;
    return toolErrorMessage(error, call);
  }
}

/** Waits for all: a sibling left running would act behind the back of a paused graph. All questions are asked together. */
async function settle(runs: readonly Promise<Output>[]): Promise<Output[]> {
  const results = await Promise.allSettled(runs);
  const errors: unknown[] = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason] : [],
  );
  const fatal = errors.find((error) => !isGraphInterrupt(error));
  if (fatal !== undefined) throw fatal;
  if (errors.length > 0) {
    throw new GraphInterrupt(errors.flatMap((error) => (error as GraphInterrupt).interrupts));
  }
  return results.map((result) => (result as PromiseFulfilledResult<Output>).value);
}

/** As LangGraph's own tool node returns them; hand-offs to a parent graph go together, or all but one would be lost. */
function combine(outputs: readonly Output[]): NodeOutput {
  if (!outputs.some((output) => isCommand(output))) return { messages: [...outputs] };
  const rest: ({ messages: Output[] } | Command)[] = [];
  const sends: Send[] = [];
  for (const output of outputs) {
    if (!isCommand(output)) rest.push({ messages: [output] });
    else if (isHandOff(output)) sends.push(...(output.goto as Send[]));
    else rest.push(output);
  }
  return sends.length > 0 ? [...rest, new Command({ graph: Command.PARENT, goto: sends })] : rest;
}

function isHandOff(command: Command): boolean {
  const { graph, goto } = command;
  return (
    graph === Command.PARENT &&
    Array.isArray(goto) &&
    goto.every((target) => typeof target === "object" && "node" in target)
  );
}

/** Whether we run inside a graph, where calls can become tasks. */
function canSpawn(config: LangGraphRunnableConfig | undefined): boolean {
  return typeof config?.configurable?.__pregel_call === "function";
}

/** Config of a call's own task, in which `getCurrentTaskInput()` gives the node's state, as tools expect. */
function taskConfig(state: unknown): LangGraphRunnableConfig {
  const config = getConfig() as LangGraphRunnableConfig;
  const scratchpad = config.configurable?.__pregel_scratchpad as object | undefined;
  if (!scratchpad) return config;
  return {
    ...config,
    configurable: {
      ...config.configurable,
      // The rest of it (counters of interrupts, answers) stays the task's.
      __pregel_scratchpad: Object.create(scratchpad, { currentTaskInput: { value: state } }) as object,
    },
  };
}

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { isCommand, isGraphBubbleUp } from "@langchain/langgraph";
import {
  agentOf,
  appendNotice,
  BudgetKeeper,
  type BudgetOptions,
  budgetReport,
  budgetSeal,
  closeAnswer,
  type EventOrigin,
  elementKey,
  emitter,
  estimateTokens,
  isAssistant,
  longhaulMeter,
  measureTools,
  memoryStorage,
  type PlannedCall,
  readBudgetMirror,
  readSeal,
  resolveBudgetOptions,
  type StepPlan,
  sealed,
  toolCallRefusal,
  withSystemDeps,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { ambientGraph } from "./shared/ambient-graph.ts";
import { channelSchema } from "./shared/channels.ts";
import {
  answerOf,
  commitModelCall,
  isStructuredAnswer,
  type ModelCallResult,
} from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";
import { currentOrigin } from "./shared/origin.ts";

export interface BudgetMiddlewareOptions extends BudgetOptions, CommonOptions {
  /** Model for the steps from level "essential" on. @default the agent's own */
  readonly cheaperModel?: BaseChatModel | undefined;
  /** What belongs to single tools: `optional` ones are withheld from level "essential" on. @default {} */
  readonly tools?: Readonly<Record<string, { readonly optional?: boolean | undefined }>> | undefined;
  /** Nodes that run between a final answer and the end of the graph (after-agent hooks). Minimum 0. @default 0 */
  readonly closingSupersteps?: number | undefined;
}

/**
 * Keeps a run within its budget and ends it decently: a notice at each level, optional tools and the dear model withheld
 * from "essential" on, at "wrap-up" one last call without tools that answers from what is there, at "stop" a report made by
 * code. After either the run is PAUSED, reason `budget:<limit>` or `step_limit`, the result marked partial; a larger limit or a
 * new human turn goes on. The same last call comes before LangGraph's `recursionLimit` would throw.
 *
 * Place in the chain: behind run status, before loop detection, progress and context: what they add or fold is counted too. All
 * model calls in it, at any depth, are counted by a meter that it brings along; a subagent's count here too, and in
 * its own budget when it has this middleware.
 *
 * Stores one record a run (`budgets`) and the mirror `_longhaulBudget`. A step that is replayed after a crash is counted
 * again, as it was paid for again; what was cut stands as its reservation. Calls and limits are per run: thread and human
 * turn, or `configurable.longhaul_run`.
 *
 * Cost: four small storage writes for a step, two for a tool call. Throws `BudgetTooSmallError` for limits below one step and the
 * closing call (at once for options, before the first call for `recursionLimit`), `InvalidOptionsError`,
 * `StateFormatError`. A refusal is never an exception. A storage that fails makes the call fail.
 */
export function budgetMiddleware(options: BudgetMiddlewareOptions = {}) {
  const deps = withSystemDeps(options.deps);
  const storage = options.storage ?? memoryStorage(deps);
  const keeper = new BudgetKeeper({
    ledger: storage.budgets,
    budget: resolveBudgetOptions(options),
    meter: longhaulMeter({ storage, budget: options, events: options.events, deps }),
    deps,
    closingSupersteps: options.closingSupersteps,
  });
  // The meter reports from callbacks, where the node's config is out of sight: where it happened is fixed beforehand.
  const emitFrom = (origin: EventOrigin) =>
    emitter(options.events, () => ({ ...origin, time: deps.clock.now() }));

  return createMiddleware({
    name: "LonghaulBudget",
    stateSchema: channelSchema("_longhaulBudget", "_longhaulProgress", "_longhaulMemory"),

    wrapModelCall: async (request, handler) => {
      const { state, runtime, tools, model } = request;
      const graph = ambientGraph();
      const origin = currentOrigin(deps.clock);
      const planned = await keeper.plan({
        thread: origin.threadId,
        run: runOf(runtime.configurable),
        messages: state.messages,
        mirror: readBudgetMirror(state._longhaulBudget),
        place: graph,
        overheadTokens: estimateTokens(request.systemMessage?.text ?? "") + measureTools(tools),
        window: windowOf(model),
        model: modelNameOf(model),
        agent: agentOf(graph.metadata),
        signal: runtime.signal,
        emit: emitFrom(origin),
      });
      const { plan } = planned;
      if (plan.mode === "stop") {
        const mirror = await keeper.finish(planned, undefined, false);
        return commitModelCall(budgetReport(plan, state, state.messages), { _longhaulBudget: mirror });
      }
      const degraded = { ...request, ...degrade(request, plan, options) };
      const result = (await keeper.call(planned, () => handler(degraded))) as ModelCallResult;
      const answer = answerOf(result);
      const mirror = await keeper.finish(planned, answer, answer !== undefined && !readSeal(answer));
      return commitModelCall(close(result, planned, state), { _longhaulBudget: mirror });
    },

    wrapToolCall: (request, handler) => {
      const { toolCall, state, runtime } = request;
      const origin = currentOrigin(deps.clock);
      const messages = state.messages as BaseMessage[];
      const asking = messages.findLast(isAssistant);
      return keeper.tool(
        {
          thread: origin.threadId,
          run: runOf(runtime.configurable),
          messages,
          tool: toolCall.name,
          call: asking ? elementKey(asking, toolCall.id) : (toolCall.id ?? toolCall.name),
          isSuspension: isGraphBubbleUp,
          emit: emitFrom(origin),
        },
        () => handler(request),
        (limit) =>
          new ToolMessage({
            content: toolCallRefusal(limit),
            name: toolCall.name,
            tool_call_id: toolCall.id ?? "",
            status: "error",
          }),
      );
    },
  });
}

/** Assumed where a model does not tell its window. */
const UNKNOWN_WINDOW = 32_000;

interface Degradable {
  readonly messages: BaseMessage[];
  readonly tools: readonly unknown[];
}

/** The parts of a request that a plan changes. Tools are left out or kept, never replaced: their instances are their identity. */
function degrade<R extends Degradable>(
  request: R,
  plan: StepPlan,
  options: BudgetMiddlewareOptions,
): { messages: BaseMessage[]; tools?: R["tools"]; model?: BaseChatModel } {
  const messages = plan.notices.reduce(appendNotice, request.messages);
  // The structured-output tool is no part of `tools` and stays, so the closing answer can have its form.
  if (plan.mode === "closing") return { messages, tools: [], ...cheaper(options) };
  if (plan.level !== "essential") return { messages };
  const tools = request.tools.filter((tool) => !options.tools?.[nameOf(tool)]?.optional);
  return { messages, tools, ...cheaper(options) };
}

function cheaper({ cheaperModel }: BudgetMiddlewareOptions): { model?: BaseChatModel } {
  return cheaperModel ? { model: cheaperModel } : {};
}

/** The result of a closing call, sealed. */
function close(
  result: ModelCallResult,
  { plan }: PlannedCall,
  state: Parameters<typeof budgetReport>[1] & { readonly messages: BaseMessage[] },
): ModelCallResult {
  const answer = answerOf(result);
  if (plan.mode !== "closing" || isCommand(result) || !answer || readSeal(answer)) return result;
  if (!isStructuredAnswer(result)) return closeAnswer(plan, answer, state, state.messages);
  // The "call" of structured output is answered already and has to stay.
  const seal = budgetSeal(plan);
  if (!("structuredResponse" in result)) return sealed(answer, seal);
  const last = result.messages.findLast(isAssistant) as AIMessage;
  const marked = new Map([answer, last].map((message) => [message as BaseMessage, sealed(message, seal)]));
  return { ...result, messages: result.messages.map((message) => marked.get(message) ?? message) };
}

function runOf(configurable: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const run = configurable?.longhaul_run;
  return typeof run === "string" ? run : undefined;
}

function nameOf(tool: unknown): string {
  const { name, function: declared } = (tool ?? {}) as { name?: unknown; function?: { name?: unknown } };
  return String(name ?? declared?.name ?? "");
}

function windowOf(model: unknown): number {
  const max = (model as { profile?: { maxInputTokens?: unknown } } | undefined)?.profile?.maxInputTokens;
  return typeof max === "number" && max > 0 ? max : UNKNOWN_WINDOW;
}

function modelNameOf(model: unknown): string | undefined {
  const { model: name, modelName } = (model ?? {}) as { model?: unknown; modelName?: unknown };
  return [name, modelName].find((value): value is string => typeof value === "string");
}

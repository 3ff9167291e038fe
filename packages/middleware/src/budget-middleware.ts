import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import {
  type BudgetOptions,
  budgetReport,
  budgetSeal,
  closeAnswer,
  createBudgetKeeper,
  currentEmitter,
  degradeRequest,
  estimateTokens,
  isAssistant,
  measureTools,
  memoryStorage,
  modelCallOf,
  nodeConfig,
  type PlannedCall,
  readBudgetMirror,
  readSeal,
  refusedCall,
  sealed,
  type ToolOptionsMap,
  toolCallOf,
  withSystemDeps,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { channelSchema } from "./shared/channels.ts";
import {
  answerOf,
  commitModelCall,
  isStructuredAnswer,
  type ModelCallResult,
} from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";

export interface BudgetMiddlewareOptions extends BudgetOptions, CommonOptions {
  /** Model for the steps from level "essential" on. @default the agent's own */
  readonly cheaperModel?: BaseChatModel | undefined;
  /** What belongs to single tools: `optional` ones are withheld from level "essential" on. @default {} */
  readonly tools?: ToolOptionsMap | undefined;
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
  const keeper = createBudgetKeeper({ ...options, storage, budget: options, deps });

  return createMiddleware({
    name: "LonghaulBudget",
    stateSchema: channelSchema("_longhaulBudget", "_longhaulProgress", "_longhaulMemory"),

    wrapModelCall: async (request, handler) => {
      const { state, tools, model } = request;
      const planned = await keeper.plan({
        ...modelCallOf(nodeConfig(), model),
        messages: state.messages,
        mirror: readBudgetMirror(state._longhaulBudget),
        overheadTokens: estimateTokens(request.systemMessage?.text ?? "") + measureTools(tools),
        emit: currentEmitter(options.events, deps.clock),
      });
      const { plan } = planned;
      if (plan.mode === "stop") {
        const mirror = await keeper.finish(planned, undefined, false);
        return commitModelCall(budgetReport(plan, state, state.messages), { _longhaulBudget: mirror });
      }
      const degraded = { ...request, ...degradeRequest(request, plan, options) };
      const result = (await keeper.call(planned, () => handler(degraded))) as ModelCallResult;
      const answer = answerOf(result);
      const mirror = await keeper.finish(planned, answer, answer !== undefined && !readSeal(answer));
      return commitModelCall(close(result, planned, state), { _longhaulBudget: mirror });
    },

    wrapToolCall: (request, handler) => {
      const messages = request.state.messages as BaseMessage[];
      return keeper.tool(
        {
          ...toolCallOf(nodeConfig(), messages, request.toolCall),
          emit: currentEmitter(options.events, deps.clock),
        },
        () => handler(request),
        (limit) => refusedCall(request.toolCall, limit),
      );
    },
  });
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

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import {
  appendNotice,
  askUntilAnswered,
  beginStep,
  budgetReport,
  callInTime,
  closeAnswer,
  createBudgetKeeper,
  currentEmitter,
  degradeRequest,
  dueResumeNote,
  endStep,
  estimateTokens,
  isContextOverflow,
  type LonghaulValues,
  type LoopOptions,
  type ModelLimitOptions,
  measureTools,
  memoryStorage,
  modelCallOf,
  type Notice,
  nodeConfig,
  readBudgetMirror,
  readLoops,
  readRunState,
  readSeal,
  reportMove,
  resolveLoopOptions,
  resolveModelTimeout,
  type StepPlan,
  withSystemDeps,
} from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";
import type { NodeBudget, RequestOptions } from "./node-options.ts";
import { RequestBuilder } from "./request-builder.ts";
import { TurnRequest } from "./turn-request.ts";

export interface ModelNodeOptions extends RequestOptions {
  /** The agent's model, without bound tools. */
  readonly model: BaseChatModel;
  /** @default { preset: "medium" }; false: none */
  readonly budget?: NodeBudget | false | undefined;
  /** Time-out of a model call; false: none. @default {} */
  readonly toolGuard?: ModelLimitOptions | false | undefined;
  /** Empty answers and endless announcements; false: taken as they are. @default {} */
  readonly loops?: LoopOptions | false | undefined;
}

/**
 * The node that calls the model with `longhaulRequest`, within the budget: notices at its levels, optional tools withheld,
 * one closing call without tools at the wrap-up, a report without a call at the stop. Asks again after an empty answer.
 *
 * Place: right after `contextNode`; `routeAfterModel` behind it. Writes the answer, `_longhaulBudget`, `_longhaulLoops`,
 * `_longhaulRun` and the calibration of the token measure. Replay and resume: a resumed node builds the request again from the
 * same state. A call cut off by a kill stands in the budget as its reservation.
 *
 * @throws InvalidOptionsError, BudgetTooSmallError; at a call what the model throws, StateFormatError
 */
export function modelNode(options: ModelNodeOptions) {
  const { events, model, tools = [], toolOptions } = options;
  const deps = withSystemDeps(options.deps);
  const storage = options.storage ?? memoryStorage(deps);
  const builder = new RequestBuilder({ ...options, storage });
  const loops = options.loops === false ? undefined : (options.loops ?? {});
  if (loops) resolveLoopOptions(loops);
  const budget = options.budget === false ? undefined : (options.budget ?? {});
  const keeper = budget && createBudgetKeeper({ storage, budget, events, deps });
  const timeoutMs =
    options.toolGuard === false ? false : resolveModelTimeout(options.toolGuard?.modelTimeoutMs);
  const overheadTokens = estimateTokens(options.systemPrompt ?? "") + measureTools(tools);

  return async (state: LonghaulNodeState): Promise<LonghaulValues & { readonly messages: BaseMessage[] }> => {
    const config = nodeConfig();
    const before = readRunState(state._longhaulRun);
    const emit = currentEmitter(events, deps.clock, before.step + 1);
    const running = beginStep(before, deps.clock.now(), dueResumeNote(state.messages, config));
    reportMove(emit, before, running);
    const request = new TurnRequest(state, builder);
    const loopsBefore = readLoops(state._longhaulLoops);
    let loopState = loopsBefore;

    async function call(plan: StepPlan | undefined, nudge: Notice | undefined): Promise<AIMessage> {
      const messages = await request.messages();
      const plain = { messages: nudge ? appendNotice(messages, nudge) : [...messages], tools, model };
      const wanted = plan
        ? degradeRequest(plain, plan, { cheaperModel: budget?.cheaperModel, tools: toolOptions })
        : plain;
      const runnable =
        wanted.tools.length > 0 && wanted.model.bindTools
          ? wanted.model.bindTools(wanted.tools as never)
          : wanted.model;
      const limits = { timeoutMs, signal: config.signal, deps, emit };
      return callInTime(
        limits,
        (signal) => runnable.invoke(wanted.messages, { ...config, signal } as never) as Promise<AIMessage>,
      );
    }

    /** Once smaller when the provider finds the request too long. */
    async function callOrShrink(plan: StepPlan | undefined, nudge?: Notice): Promise<AIMessage> {
      try {
        return await call(plan, nudge);
      } catch (error) {
        if (!isContextOverflow(error)) throw error;
        await request.shrink();
        return call(plan, nudge);
      }
    }

    async function ask(plan?: StepPlan): Promise<AIMessage> {
      if (!loops) return callOrShrink(plan);
      const asked = await askUntilAnswered(
        loopState,
        loops,
        { call: (nudge) => callOrShrink(plan, nudge), answerOf: (answer) => answer },
        { emit, newId: deps.newId },
      );
      loopState = asked.state;
      return asked.end ?? asked.result;
    }

    async function askWithinBudget(): Promise<{ answer: AIMessage } & LonghaulValues> {
      if (!keeper) return { answer: await ask() };
      const planned = await keeper.plan({
        ...modelCallOf(config, model),
        messages: state.messages,
        mirror: readBudgetMirror(state._longhaulBudget),
        overheadTokens,
        emit,
      });
      const { plan } = planned;
      if (plan.mode === "stop") {
        const answer = budgetReport(plan, state, state.messages);
        return { answer, _longhaulBudget: await keeper.finish(planned, undefined, false) };
      }
      const answer = await keeper.call(planned, () => ask(plan));
      const _longhaulBudget = await keeper.finish(planned, answer, !readSeal(answer));
      const closed = plan.mode === "closing" ? closeAnswer(plan, answer, state, state.messages) : answer;
      return { answer: closed, _longhaulBudget };
    }

    const { answer, ...mirror } = await askWithinBudget();
    answer.id ??= deps.newId();
    const after = endStep(running, answer, false, deps.clock.now());
    reportMove(emit, running, after);
    return {
      ...request.settle(answer.usage_metadata),
      ...mirror,
      ...(loopState === loopsBefore ? {} : { _longhaulLoops: loopState }),
      _longhaulRun: after,
      messages: [answer],
    };
  };
}

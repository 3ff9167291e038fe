import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import {
  appendNotice,
  BudgetKeeper,
  type BudgetOptions,
  budgetReport,
  calibrate,
  closeAnswer,
  endStep,
  estimateTokens,
  idleReport,
  isContextOverflow,
  type LonghaulValues,
  type LoopOptions,
  longhaulMeter,
  measureTools,
  memoryStorage,
  observeReply,
  readBudgetMirror,
  readLoops,
  readMemoryState,
  readRunState,
  readSeal,
  resolveBudgetOptions,
  resolveLoopOptions,
  type StepPlan,
  sealMessage,
  withSystemDeps,
} from "@longhaul/core";
import type { LonghaulNodeState, LonghaulRequest } from "./longhaul-state.ts";
import { graphPlace, nodeConfig, nodeEmitter, type RequestOptions, threadOf } from "./node-options.ts";
import { RequestBuilder } from "./request-builder.ts";

export interface ModelNodeOptions extends RequestOptions {
  /** The agent's model, without bound tools. */
  readonly model: BaseChatModel;
  /** @default { preset: "medium" }; false: none */
  readonly budget?:
    | (BudgetOptions & { readonly cheaperModel?: BaseChatModel | undefined })
    | false
    | undefined;
  /** Empty answers and endless announcements; false: taken as they are. @default {} */
  readonly loops?: LoopOptions | false | undefined;
  /** Names of tools that may be withheld when the budget gets short. @default none */
  readonly optionalTools?: readonly string[] | undefined;
}

/** Assumed where a model does not tell its window. */
const UNKNOWN_WINDOW = 32_000;

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
  const deps = withSystemDeps(options.deps);
  const storage = options.storage ?? memoryStorage(deps);
  const builder = new RequestBuilder({ ...options, storage });
  const loops = options.loops === false ? undefined : (options.loops ?? {});
  const { nudges, nudgeText } = resolveLoopOptions(loops ?? {});
  const budget = options.budget === false ? undefined : (options.budget ?? {});
  const keeper =
    budget &&
    new BudgetKeeper({
      ledger: storage.budgets,
      budget: resolveBudgetOptions(budget),
      meter: longhaulMeter({ storage, budget, events: options.events, deps }),
      deps,
    });
  const tools = options.tools ?? [];
  const overheadTokens = estimateTokens(options.systemPrompt ?? "") + measureTools(tools);
  const optional = new Set(options.optionalTools);

  return async (state: LonghaulNodeState): Promise<LonghaulValues & { readonly messages: BaseMessage[] }> => {
    const config = nodeConfig();
    const emit = nodeEmitter(options, deps, readRunState(state._longhaulRun).step + 1);
    let prepared: LonghaulValues = {};
    let request = state.longhaulRequest ?? (await build());

    async function build(): Promise<LonghaulRequest> {
      const built = await builder.prepare(state);
      prepared = built.update;
      return built.prepared.view;
    }

    async function call(plan?: StepPlan): Promise<AIMessage> {
      const messages = (plan?.notices ?? []).reduce<BaseMessage[]>(appendNotice, [...request.messages]);
      const isShort = plan?.level === "essential" || plan?.mode === "closing";
      const model = (isShort && budget && budget.cheaperModel) || options.model;
      const offered =
        plan?.mode === "closing" ? [] : isShort ? tools.filter((tool) => !optional.has(nameOf(tool))) : tools;
      const runnable = offered.length > 0 && model.bindTools ? model.bindTools(offered as never) : model;
      return (await runnable.invoke(messages, config as never)) as AIMessage;
    }

    /** Once smaller when the provider finds the request too long. */
    async function callOrShrink(plan?: StepPlan): Promise<AIMessage> {
      try {
        return await call(plan);
      } catch (error) {
        if (!isContextOverflow(error)) throw error;
        const smaller = await (await builder.prepare(state)).prepared.afterOverflow();
        prepared = smaller.update;
        request = smaller.view;
        return call(plan);
      }
    }

    async function turn(): Promise<{ answer: AIMessage; mirror?: LonghaulValues["_longhaulBudget"] }> {
      if (!keeper) return { answer: await callOrShrink() };
      const planned = await keeper.plan({
        thread: threadOf(config),
        run:
          typeof config.configurable?.longhaul_run === "string"
            ? config.configurable.longhaul_run
            : undefined,
        messages: state.messages,
        mirror: readBudgetMirror(state._longhaulBudget),
        place: graphPlace(config),
        overheadTokens,
        window: windowOf(options.model),
        model: modelNameOf(options.model),
        agent: String(config.metadata?.lc_agent_name ?? ""),
        signal: config.signal,
        emit,
      });
      const { plan } = planned;
      if (plan.mode === "stop") {
        return {
          answer: budgetReport(plan, state, state.messages),
          mirror: await keeper.finish(planned, undefined, false),
        };
      }
      const answer = await keeper.call(planned, () => callOrShrink(plan));
      const mirror = await keeper.finish(planned, answer, true);
      return {
        answer: plan.mode === "closing" ? closeAnswer(plan, answer, state, state.messages) : answer,
        mirror,
      };
    }

    const before = readLoops(state._longhaulLoops);
    let loopState = before;
    let current = await turn();
    const dropped: AIMessage[] = [];
    while (loops && !readSeal(current.answer)) {
      const reply = observeReply(loopState, current.answer, loops);
      loopState = reply.state;
      if (reply.verdict === "accept") break;
      if (reply.verdict === "end") {
        const cause = reply.reason ?? "empty";
        const text = idleReport(cause, nudges + 1);
        emit({ type: "loop.stop", kind: "idle", reason: cause, evidence: text });
        current = { ...current, answer: sealMessage({ status: "NEEDS_HUMAN", reason: cause }, text) };
        break;
      }
      dropped.push(current.answer);
      emit({ type: "loop.nudge", times: dropped.length });
      if (dropped.length === 1)
        request = { ...request, messages: appendNotice(request.messages, { kind: "loop", text: nudgeText }) };
      current = await turn();
    }

    const { answer, mirror } = current;
    answer.id ??= deps.newId();
    const memory = readMemoryState(prepared._longhaulMemory ?? state._longhaulMemory);
    const calibration = calibrate(memory.calibration, request.estimated, answer.usage_metadata);
    const run = endStep(readRunState(state._longhaulRun), answer, false, deps.clock.now());
    return {
      ...prepared,
      messages: [answer],
      _longhaulRun: run,
      ...(calibration === memory.calibration ? {} : { _longhaulMemory: { ...memory, calibration } }),
      ...(loopState === before ? {} : { _longhaulLoops: loopState }),
      ...(mirror ? { _longhaulBudget: mirror } : {}),
    };
  };
}

function nameOf(tool: unknown): string {
  return String((tool as { name?: unknown } | undefined)?.name ?? "");
}

function windowOf(model: unknown): number {
  const max = (model as { profile?: { maxInputTokens?: unknown } } | undefined)?.profile?.maxInputTokens;
  return typeof max === "number" && max > 0 ? max : UNKNOWN_WINDOW;
}

function modelNameOf(model: unknown): string | undefined {
  const { model: name, modelName } = (model ?? {}) as { model?: unknown; modelName?: unknown };
  return [name, modelName].find((value): value is string => typeof value === "string");
}

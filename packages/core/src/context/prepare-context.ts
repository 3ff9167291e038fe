import { offloadText } from "../artifacts/offload.ts";
import type { LonghaulValues } from "../state/channels.ts";
import {
  type ContextMeasure,
  type ContextView,
  carriedGroup,
  composeContext,
  measureContext,
} from "./build-context.ts";
import { GoalTooLargeError, RequestTooLargeError } from "./context-errors.ts";
import { DEFAULT_WINDOW, type ResolvedContextOptions } from "./context-options.ts";
import { type ContextParts, type ContextState, type RequestParts, readContext } from "./context-state.ts";
import { type FoldDeps, foldGroups } from "./fold.ts";
import { historyLayers } from "./layers.ts";
import { type MemoryState, readMemoryState } from "./memory-state.ts";
import { foldConditions, isFruitful, planFold, sameConditions } from "./plan-fold.ts";
import { renderSummary } from "./render-summary.ts";
import { pendingReset } from "./reset-memory.ts";
import { storeLargeResults } from "./store-results.ts";
import { calibrate, estimateTokens } from "./token-measure.ts";

export interface PrepareInput extends RequestParts {
  readonly state: ContextState;
  /** Thread id: whose artifacts these are. */
  readonly thread: string;
}

export interface PreparedContext {
  readonly view: ContextView;
  /** Channels that changed, to commit together with the model's answer. */
  readonly update: LonghaulValues;
  /** The update after the model answered: with the measure calibrated by the usage that it reported. */
  readonly settle: (usage: unknown) => LonghaulValues;
}

/** No new fold for so many agent steps after a failed one. */
const PAUSE_STEPS = 5;

/**
 * The one way to a request, for every face: applies a granted reset, stores large results, folds if due and builds the view.
 *
 * Nothing is committed here. What it stores (results, summaries under the digest of what they replace) is found again when the
 * step is repeated, so a crash before the answer costs no second summary. A failed summary leaves memory and view as they were.
 *
 * @throws StateFormatError; GoalTooLargeError; RequestTooLargeError when the request would not fit the window after everything
 */
export async function prepareContext(
  input: PrepareInput,
  options: ResolvedContextOptions,
  deps: FoldDeps,
): Promise<PreparedContext> {
  const { state, thread } = input;
  const stored = readMemoryState(state._longhaulMemory);
  let parts = readContext(state, options, input);
  if (state._longhaulMemory === undefined) announceWindow(parts, deps);
  checkGoal(parts);
  parts = await archiveEpoch(parts, stored, state, thread, deps);
  parts = await storeResults(parts, thread, deps);
  parts = await foldIfDue(parts, state, thread, deps);
  const view = composeContext(parts);
  report(view, parts, deps);
  const { memory, task } = parts;
  const update = (latest: MemoryState): LonghaulValues => ({
    ...(task && task !== state._longhaulTask ? { _longhaulTask: task } : {}),
    ...(latest !== stored || state._longhaulMemory === undefined ? { _longhaulMemory: latest } : {}),
  });
  return {
    view,
    update: update(memory),
    settle: (usage) => {
      const calibration = calibrate(memory.calibration, view.estimated, usage);
      return update(calibration === memory.calibration ? memory : { ...memory, calibration });
    },
  };
}

function announceWindow({ options, request }: ContextParts, { emit }: FoldDeps): void {
  if (options.window === undefined && request.profileWindow === undefined)
    emit({ type: "context.window-unknown", assumed: DEFAULT_WINDOW, option: "context.window" });
}

function checkGoal({ task, memory, limits }: ContextParts): void {
  const limit = Math.floor(limits.window / 4);
  const tokens = Math.ceil(estimateTokens(task?.goal.text ?? "") * memory.calibration);
  if (tokens > limit) throw new GoalTooLargeError({ tokens, limit });
}

/** Summaries of the epoch that a reset has just ended go to the store, where their reference leads. */
async function archiveEpoch(
  parts: ContextParts,
  before: MemoryState,
  state: ContextState,
  thread: string,
  { artifacts, emit }: FoldDeps,
): Promise<ContextParts> {
  const reset = pendingReset(before, state._longhaulProgress);
  if (!reset) return parts;
  emit({ type: "reset.applied", epoch: parts.memory.epoch, atStep: reset.step });
  const past = parts.memory.pastEpochs.at(-1);
  if (!past || before.summaries.length === 0) return parts;
  const text = before.summaries.map(renderSummary).join("\n\n");
  const label = `summaries of steps ${past.fromStep}-${past.toStep}`;
  const stored = await offloadText(thread, text, { kind: "summary", label }, artifacts);
  if ("lost" in stored) {
    emit({ type: "context.store-failed", label, chars: text.length, reason: stored.reason });
    return parts;
  }
  const pastEpochs = [...parts.memory.pastEpochs.slice(0, -1), { ...past, ref: stored.ref }];
  return withMemory(parts, { ...parts.memory, pastEpochs });
}

async function storeResults(parts: ContextParts, thread: string, deps: FoldDeps): Promise<ContextParts> {
  const carried = carriedGroup(parts.memory.carriedFrom, parts.layers.past);
  const groups = carried ? [carried, ...parts.layers.working] : parts.layers.working;
  const memory = await storeLargeResults(parts.memory, groups, parts.options, { ...deps, thread });
  return withMemory(parts, memory);
}

async function foldIfDue(
  parts: ContextParts,
  state: ContextState,
  thread: string,
  deps: FoldDeps,
): Promise<ContextParts> {
  const { memory, layers, limits, options } = parts;
  const before = measureContext(parts);
  const input = {
    groups: before.working.groups.map(({ group, tokens }) => ({
      isStep: group.kind === "step",
      tokens: tokens * memory.calibration,
    })),
    floor: before.floor,
    limits,
    memory,
    step: layers.nextStep,
    humanTurns: parts.task?.humanTurns ?? 0,
    fold: options.fold,
    every: options.summary.every,
    ask: options.askReset ? { times: asked(parts, state) } : undefined,
  };
  const plan = planFold(input);
  if (!plan.due) {
    const isHopeless = plan.reason === "nothing" || plan.reason === "small-gain";
    if (!isHopeless || before.workingTokens <= plan.softLimit || sameConditions(input)) return parts;
    return withMemory(parts, fruitless(parts, before, memory.fruitless, deps));
  }
  const started = deps.deps.clock.monotonic();
  const result = await foldGroups(parts, state, plan.count, thread, deps);
  if (!result.ok) {
    const pausedUntilStep = layers.nextStep + PAUSE_STEPS;
    deps.emit({ type: "fold.failed", reason: result.reason, message: result.message, pausedUntilStep });
    return withMemory(parts, { ...memory, pauseUntilStep: pausedUntilStep });
  }
  const folded = withMemory({ ...parts, task: result.task }, result.memory, state);
  const after = measureContext(folded);
  const steps = result.groups.flatMap((group) => (group.step === undefined ? [] : [group.step]));
  deps.emit({
    type: "fold.done",
    fromStep: steps[0] ?? 0,
    toStep: steps.at(-1) ?? 0,
    groups: result.groups.length,
    tokensBefore: before.floor + before.workingTokens,
    tokensAfter: after.floor + after.workingTokens,
    reused: result.reused,
    durationMs: Math.round(deps.deps.clock.monotonic() - started),
  });
  const lastFold = { step: layers.nextStep, workingTokens: after.workingTokens };
  const isGood = isFruitful(before.workingTokens, after.workingTokens, after.softLimit);
  const settled = withMemory(folded, {
    ...folded.memory,
    lastFold,
    fruitless: 0,
    fruitlessMark: undefined,
  });
  return isGood ? settled : withMemory(settled, fruitless(settled, after, memory.fruitless + 1, deps));
}

/** Remembers, and reports once, that folding does not bring the request below its limit. */
function fruitless(parts: ContextParts, measure: ContextMeasure, tries: number, deps: FoldDeps): MemoryState {
  const { limits, memory, options, task } = parts;
  const conditions = foldConditions({ limits, humanTurns: task?.humanTurns ?? 0, fold: options.fold });
  deps.emit({
    type: "fold.fruitless",
    floor: measure.floor + measure.workingTokens,
    softLimit: measure.softLimit,
    trigger: limits.hardLimit,
    window: limits.window,
    tries,
  });
  return { ...memory, fruitless: tries, fruitlessMark: { conditions, floor: measure.floor } };
}

/** How often the model was asked to reset since the last fold. */
function asked({ memory }: ContextParts, state: ContextState): number {
  const { atStep = 0, times = 0 } = state._longhaulProgress?.asked ?? {};
  return atStep > (memory.lastFold?.step ?? 0) ? times : 0;
}

function withMemory(parts: ContextParts, memory: MemoryState, state?: ContextState): ContextParts {
  if (memory === parts.memory) return parts;
  return { ...parts, memory, ...(state ? { layers: historyLayers(state.messages, memory) } : {}) };
}

function report(view: ContextView, parts: ContextParts, { emit }: FoldDeps): void {
  const { tokens, limits, left } = view;
  const reduced = left.results.filter((result) => result.why === "hard-limit");
  if (reduced.length > 0)
    emit({
      type: "context.reduced",
      results: reduced.length,
      withoutReference: reduced.filter((result) => result.ref === undefined).length,
      total: tokens.total,
      hardLimit: limits.hardLimit,
    });
  if (tokens.total > limits.window) {
    const floor = tokens.system + tokens.task + tokens.memory;
    throw new RequestTooLargeError({ tokens: tokens.total, window: limits.window, floor });
  }
  if (tokens.total > limits.hardLimit)
    emit({
      type: "context.over-limit",
      total: tokens.total,
      hardLimit: limits.hardLimit,
      window: limits.window,
    });
  const isFoldStep = parts.memory.lastFold?.step === parts.layers.nextStep;
  if (isFoldStep && left.memory.identifiers + left.memory.artifacts + left.memory.summaries > 0)
    emit({ type: "context.memory-trimmed", ...left.memory });
  emit({ type: "context.built", ...tokens });
}

import { offloadText } from "../artifacts/offload.ts";
import { LonghaulError } from "../errors.ts";
import { diagnoseError } from "../recovery/classify-error.ts";
import type { LonghaulValues } from "../state/channels.ts";
import { renderSummary } from "../summary/step-summary.ts";
import { type ContextView, composeContext } from "./build-context.ts";
import { GoalTooLargeError, RequestTooLargeError } from "./context-errors.ts";
import { DEFAULT_WINDOW, type ResolvedContextOptions } from "./context-options.ts";
import {
  type ContextParts,
  type ContextState,
  type RequestParts,
  readContext,
  withMemory,
} from "./context-state.ts";
import type { FoldDeps } from "./fold.ts";
import { foldIfDue } from "./fold-if-due.ts";
import type { MemoryState } from "./memory-state.ts";
import { pendingReset } from "./reset-memory.ts";
import { storeLargeResults } from "./store-results.ts";
import { calibrate, estimateTokens } from "./token-measure.ts";
import { carriedGroup } from "./view-front.ts";

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
  /**
   * Another, smaller request after the provider found this one too long (see `isContextOverflow`): the measure is raised to what that
   * means, so that folding and cutting begin earlier. The provider's next count sets it right again. Worth one try.
   */
  readonly afterOverflow: () => Promise<PreparedContext>;
}

/** An overflow means that the request was at least so much larger than estimated. */
const OVERFLOW_FACTOR = 1.3;

/**
 * The one way to a request, for every face: applies a granted reset, stores large results, folds if due and builds the view.
 *
 * Nothing is committed here. What it stores (results, summaries under the digest of what they replace) is found again when the
 * step is repeated, so a crash before the answer costs no second summary. A failed summary leaves memory and view as they were.
 *
 * @throws StateFormatError; GoalTooLargeError; RequestTooLargeError when the request would not fit the window after everything
 */
export function prepareContext(
  input: PrepareInput,
  options: ResolvedContextOptions,
  deps: FoldDeps,
): Promise<PreparedContext> {
  return prepare(input, options, deps, input.state);
}

/** @param channels what the channels hold, where the state to prepare differs from it already */
async function prepare(
  input: PrepareInput,
  options: ResolvedContextOptions,
  deps: FoldDeps,
  channels: LonghaulValues,
): Promise<PreparedContext> {
  const { state, thread } = input;
  let parts = readContext(state, options, input);
  const { stored } = parts;
  if (state._longhaulMemory === undefined) announceWindow(parts, deps);
  checkGoal(parts);
  parts = await archiveEpoch(parts, state, thread, deps);
  parts = await storeResults(parts, thread, deps);
  parts = await foldIfDue(parts, state, thread, deps);
  const view = composeContext(parts);
  report(view, parts, deps);
  const { memory, task } = parts;
  const update = (latest: MemoryState): LonghaulValues => ({
    ...(task && task !== channels._longhaulTask ? { _longhaulTask: task } : {}),
    ...(latest !== stored || state !== channels || state._longhaulMemory === undefined
      ? { _longhaulMemory: latest }
      : {}),
  });
  return {
    view,
    update: update(memory),
    settle: (usage) => {
      const calibration = calibrate(memory.calibration, view.estimated, usage);
      return update(calibration === memory.calibration ? memory : { ...memory, calibration });
    },
    afterOverflow: () => {
      const { tokens, limits } = view;
      deps.emit({ type: "context.overflow", total: tokens.total, window: limits.window });
      const factor = Math.max(OVERFLOW_FACTOR, (limits.window * 1.05) / tokens.total);
      const raised = { ...memory, calibration: memory.calibration * factor };
      const next = { ...state, _longhaulTask: task, _longhaulMemory: raised };
      return prepare({ ...input, state: next }, options, deps, channels);
    },
  };
}

/** Whether a provider refused a request because it is longer than its window, in whatever words. */
export function isContextOverflow(error: unknown): boolean {
  const { code } = diagnoseError(error);
  return (
    /^(?:context_overflow|context_length_exceeded|contextoverflowerror|request_too_large)$/i.test(code) &&
    !LonghaulError.isInstance(error)
  );
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
  state: ContextState,
  thread: string,
  { artifacts, emit }: FoldDeps,
): Promise<ContextParts> {
  const before = parts.stored;
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

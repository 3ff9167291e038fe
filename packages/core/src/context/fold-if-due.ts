import { type ContextMeasure, measureContext } from "./build-context.ts";
import { type ContextParts, type ContextState, withMemory } from "./context-state.ts";
import { type FoldDeps, foldGroups } from "./fold.ts";
import type { MemoryState } from "./memory-state.ts";
import { foldConditions, isFruitful, planFold, sameConditions } from "./plan-fold.ts";

/** No new fold for so many agent steps after a failed one. */
const PAUSE_STEPS = 5;

/**
 * Plans a fold and carries it out, and keeps account of what came of it: a failure starts a pause, a gain too small is counted. Never
 * more than one fold for a request.
 */
export async function foldIfDue(
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

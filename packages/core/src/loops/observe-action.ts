import { climbLadder } from "./climb-ladder.ts";
import { describeLoop } from "./describe-loop.ts";
import { type DetectedLoop, detectLoops, stillSteps } from "./detect-loops.ts";
import { type LoopOptions, type ResolvedLoopOptions, resolveLoopOptions } from "./loop-options.ts";
import type { LoopState, ObservedAction } from "./loop-state.ts";
import type { Observation } from "./observation.ts";
import { type ActionInput, judgeAction } from "./observed-action.ts";

/**
 * Observes one action, a call with its result, and says whether the run goes in circles. Pure: the new state is returned.
 *
 * Calls of one assistant message carry the same `group`; their order does not matter. The signals and the ladder are
 * those of `LoopOptions`; a stop always follows a hint by at least one step. An action of a batch is judged as it comes, so
 * "no progress" may be said before a later action of the same batch brings something: `observeMessages` judges whole steps.
 * Cost: constant in the length of the run.
 */
export function observeAction(state: LoopState, input: ActionInput, options?: LoopOptions): Observation {
  const resolved = resolveLoopOptions(options);
  return judgeStep(recordAction(state, input, resolved), resolved, [], input);
}

/** Adds an action to the state without judging. */
export function recordAction(state: LoopState, input: ActionInput, options: ResolvedLoopOptions): LoopState {
  const continues = input.group !== undefined && input.group === state.group;
  const still = continues ? state.still : stillSteps(state);
  const step = continues ? state.steps : state.steps + 1;
  const { action, novelty, mood } = judgeAction(state, input, step, options);
  const before = continues ? state.mood : "neutral";
  const moved = mood === "moved" || before === "moved";
  const { group: _, ...rest } = state;
  return {
    ...rest,
    ...(input.group !== undefined && { group: input.group }),
    steps: step,
    actions: state.actions + 1,
    window: insert(state.window, action).slice(-options.window),
    outcomes: state.outcomes.includes(novelty) ? state.outcomes : [...state.outcomes, novelty].slice(-100),
    still: moved ? 0 : still,
    mood: moved ? "moved" : mood === "still" || before === "still" ? "still" : "neutral",
  };
}

/** Judges what stands at the end of the window, and climbs the ladder. */
export function judgeStep(
  state: LoopState,
  options: ResolvedLoopOptions,
  more: readonly DetectedLoop[] = [],
  input?: ActionInput,
): Observation {
  const loops = [...detectLoops(state, options), ...more];
  const { rungs, raised } = climbLadder(state, loops);
  const next: LoopState = { ...state, rungs };
  if (raised) {
    const { kind, reason } = raised.loop;
    return {
      state: next,
      signal: raised.rung,
      kind,
      reason,
      evidence: describeLoop(raised.loop, options, input),
    };
  }
  const down = state.window.at(-1)?.kind === "unavailable";
  return down
    ? { state: next, signal: "none", kind: "unavailable", reason: "unavailable" }
    : { state: next, signal: "none" };
}

/** Batches are sorted: a fan-out in another order is the same fan-out. */
function insert(window: readonly ObservedAction[], action: ObservedAction): ObservedAction[] {
  let at = window.length;
  while (at > 0 && window[at - 1]!.step === action.step && rank(window[at - 1]!) > rank(action)) at--;
  return [...window.slice(0, at), action, ...window.slice(at)];
}

function rank(action: ObservedAction): string {
  return action.action + action.outcome;
}

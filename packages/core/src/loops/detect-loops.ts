import { createHash } from "node:crypto";
import type { Ladder, ResolvedLoopOptions } from "./loop-options.ts";
import type { LoopState, ObservedAction } from "./loop-state.ts";
import type { LoopKind, LoopReason } from "./observation.ts";
import { canSee } from "./observed-action.ts";

/** A loop that stands at the end of the window. */
export interface DetectedLoop {
  /** The same for the same loop, wherever in its round it is looked at. */
  readonly id: string;
  readonly kind: LoopKind;
  readonly reason: LoopReason;
  /** How often it came round; compared with the ladder. */
  readonly count: number;
  readonly ladder: Ladder;
  /** Actions of one round. */
  readonly round: readonly ObservedAction[];
}

/** All loops at the end of the window that have reached their first rung. Cost: window × longest period comparisons. */
export function detectLoops(state: LoopState, options: ResolvedLoopOptions): DetectedLoop[] {
  const { window } = state;
  const last = window.at(-1);
  if (!last) return [];
  return [
    cycle(window, options),
    actionCycle(window, options),
    sameError(window, options),
    unchangedPoll(window, options),
    unavailable(window, options),
    stillness(state, options),
  ].filter((loop): loop is DetectedLoop => loop !== undefined && loop.count >= loop.ladder.hint);
}

function cycle(window: readonly ObservedAction[], options: ResolvedLoopOptions): DetectedLoop | undefined {
  return shortestCycle(window, options.maxPeriod, options.cycle, "cycle", sameOutcome);
}

function actionCycle(
  window: readonly ObservedAction[],
  options: ResolvedLoopOptions,
): DetectedLoop | undefined {
  return shortestCycle(window, options.maxPeriod, options.actions, "actions", sameAction);
}

type Same = (a: ObservedAction, b: ObservedAction) => boolean;

function sameAction(a: ObservedAction, b: ObservedAction): boolean {
  // waiting has ladders of its own
  return a.action === b.action && !a.poll && a.kind !== "unavailable" && b.kind !== "unavailable";
}

function sameOutcome(a: ObservedAction, b: ObservedAction): boolean {
  return sameAction(a, b) && a.outcome === b.outcome;
}

function shortestCycle(
  window: readonly ObservedAction[],
  maxPeriod: number,
  ladder: Ladder,
  kind: "cycle" | "actions",
  same: Same,
): DetectedLoop | undefined {
  for (let period = 1; period <= maxPeriod; period++) {
    const count = period === 1 ? repeats(window, same) : rounds(window, period, same);
    if (count < ladder.hint) continue;
    const round = window.slice(-period);
    const actions = [...new Set(round.map((it) => it.action))].sort();
    // one identity for both kinds: a hint given for one counts for the other
    const id = `cycle:${createHash("sha256").update(actions.join()).digest("hex").slice(0, 10)}`;
    const empty = kind === "cycle" && round.every((it) => it.kind === "nothing");
    return { id, kind, reason: empty ? "no_progress" : "loop", count, ladder, round };
  }
  return undefined;
}

function rounds(window: readonly ObservedAction[], period: number, same: Same): number {
  let matched = period;
  while (matched < window.length) {
    const at = window.length - 1 - matched;
    if (!same(window[at]!, window[at + period]!)) break;
    matched++;
  }
  return matched > period ? Math.floor(matched / period) : 1;
}

/**
 * Repeats of the last action. Writes that it cannot see are looked through while they are fewer than half of the repeats:
 * a read done again and again is none the better for a write elsewhere, but reading one source before each of many
 * writes is batch work.
 */
function repeats(window: readonly ObservedAction[], same: Same): number {
  const last = window.at(-1)!;
  if (!same(last, last)) return 1;
  let found = 1;
  let count = 1;
  let writes = 0;
  for (const earlier of window.slice(0, -1).reverse()) {
    if (same(earlier, last)) {
      count++;
      if (writes * 2 < count) found = count;
    } else if (earlier.wrote && !canSee(last, earlier)) writes++;
    else break;
  }
  return found;
}

/** Steps in which a tool failed in the same way, back to the last time that it did not or that anything moved. */
function sameError(
  window: readonly ObservedAction[],
  options: ResolvedLoopOptions,
): DetectedLoop | undefined {
  const last = window.at(-1)!;
  if (last.kind !== "error") return undefined;
  const steps = new Set<number>();
  for (const it of window.toReversed()) {
    if (it.tool === last.tool) {
      if (it.kind !== "error" || it.outcome !== last.outcome) break;
      steps.add(it.step);
    } else if (it.moved && !(it.wrote && !canSee(last, it))) break;
  }
  return {
    id: `error:${last.tool}:${last.outcome}`,
    kind: "error",
    reason: "loop",
    count: steps.size,
    ladder: options.errors,
    round: [last],
  };
}

function unchangedPoll(
  window: readonly ObservedAction[],
  options: ResolvedLoopOptions,
): DetectedLoop | undefined {
  const last = window.at(-1)!;
  const poll = options.tools[last.tool]?.poll;
  if (!last.poll || !poll || last.kind === "unavailable") return undefined;
  let count = 0;
  for (const it of window.toReversed()) {
    if (it.action === last.action) {
      if (it.outcome !== last.outcome) break;
      count++;
    } else if (it.wrote && canSee(last, it)) break;
  }
  const hint = poll.atMost ?? 5;
  return {
    id: `poll:${last.action}`,
    kind: "poll",
    reason: "loop",
    count,
    ladder: { hint, block: hint + 2, stop: hint + 5 },
    round: [last],
  };
}

function unavailable(
  window: readonly ObservedAction[],
  options: ResolvedLoopOptions,
): DetectedLoop | undefined {
  const last = window.at(-1)!;
  if (last.kind !== "unavailable") return undefined;
  let count = 0;
  for (const it of window.toReversed()) {
    if (it.tool !== last.tool) continue;
    if (it.kind !== "unavailable") break;
    count++;
  }
  return {
    id: `unavailable:${last.tool}`,
    kind: "unavailable",
    reason: "unavailable",
    count,
    ladder: options.unavailable,
    round: [last],
  };
}

function stillness(state: LoopState, options: ResolvedLoopOptions): DetectedLoop {
  return {
    id: "no_progress",
    kind: "no_progress",
    reason: "no_progress",
    count: stillSteps(state),
    ladder: options.noProgress,
    round: [],
  };
}

/** Steps in a row without progress, the running one included. */
export function stillSteps(state: LoopState): number {
  return state.still + (state.mood === "still" ? 1 : 0);
}

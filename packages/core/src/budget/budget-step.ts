import type { Notice } from "../messages/notices.ts";
import { closingNotice, type EndCause, levelNotice, phaseBegins, phaseNotice } from "./budget-notices.ts";
import type { ResolvedBudget } from "./budget-options.ts";
import { type PhasePosition, phaseAt } from "./budget-phases.ts";
import { type BudgetPosition, budgetPosition, isAtLeast, levelsBetween } from "./budget-policy.ts";
import type { BudgetRecord } from "./budget-record.ts";
import { BUDGET_LEVELS, type BudgetLevel, type BudgetMirror } from "./budget-state.ts";

/** What an adapter has to do with the next model call. */
export interface StepPlan {
  /** `closing`: the last call, without tools. `stop`: no call at all, a report instead. */
  readonly mode: "ordinary" | "closing" | "stop";
  /** Why the run ends; only of `closing` and `stop`. */
  readonly cause?: EndCause | undefined;
  readonly level: BudgetLevel;
  /** Levels reached since the model was last told, in order, none left out. */
  readonly crossed: readonly BudgetLevel[];
  /** For this request only. */
  readonly notices: readonly Notice[];
  readonly phase?: PhasePosition | undefined;
  /** A phase began with this step. */
  readonly phaseBegan: boolean;
  readonly position: BudgetPosition;
}

export interface StepInput {
  readonly record: BudgetRecord;
  readonly budget: ResolvedBudget;
  /** The channel as the state has it; of another run it counts as none. */
  readonly mirror?: BudgetMirror | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** LangGraph's step limit leaves room for this call only. */
  readonly lastOfGraph?: boolean | undefined;
}

/** Decides how the next model call is made. Pure: same input, same plan. */
export function planStep(input: StepInput): StepPlan {
  const { record, budget, now } = input;
  const position = budgetPosition(record.totals, budget, { now, openedAt: record.openedAt });
  if (budget.strict && record.unmeasuredCalls > 0) return end(input, position, "stop", "unmeasured");
  const { limit } = position.nearest;
  if (position.level === "stop") return end(input, position, "stop", limit);
  if (position.level === "wrap-up") return end(input, position, "closing", limit);
  if (input.lastOfGraph) return end(input, position, "closing", "step_limit");
  return plan(input, position, "ordinary", undefined);
}

/** The plan when the ledger did not admit the call: the closing one, or, if that was it, none. */
export function planAfterRefusal(input: StepInput, refused: StepPlan, cause: EndCause): StepPlan {
  return end(
    input,
    refused.position,
    refused.mode === "ordinary" ? "closing" : "stop",
    refused.cause ?? cause,
  );
}

function end(
  input: StepInput,
  position: BudgetPosition,
  mode: "closing" | "stop",
  cause: EndCause,
): StepPlan {
  return plan(input, position, mode, cause);
}

function plan(
  input: StepInput,
  position: BudgetPosition,
  mode: StepPlan["mode"],
  cause: EndCause | undefined,
): StepPlan {
  const mirror = mirrorOfRun(input);
  const level = mode === "stop" ? "stop" : mode === "closing" ? "wrap-up" : position.level;
  // A limit that was raised takes levels back, and they are told again when they come again.
  const told = announcedBefore(mirror, level);
  const crossed = levelsBetween(told, level);
  const phase = phaseAt(input.budget, position.nearest.share, input.record.phase);
  const phaseBegan = phase !== undefined && phase.phase !== mirror?.phase;
  const notices = [
    ...(phase && phaseBegan && mirror?.phase !== undefined ? [phaseBegins(phase.phase)] : []),
    ...(phase?.nearEnd && mirror?.warnedPhase !== phase.phase ? [phaseNotice(phase)] : []),
    ...crossed.map((at) => levelNotice(at, position.nearest)),
    ...(mode === "closing" && cause !== undefined ? [closingNotice(cause)] : []),
  ].filter((notice) => notice !== undefined);
  return { mode, cause, level, crossed, notices, phase, phaseBegan, position };
}

/** The channel after a step whose answer is kept. */
export function mirrorAfter(
  input: StepInput,
  plan: StepPlan,
  turn: Pick<BudgetMirror, "superstep" | "stride" | "turnInput"> = {},
): BudgetMirror {
  const { record, budget, now } = input;
  const { totals, run, openedAt } = record;
  const { level, nearest, balance } = budgetPosition(totals, budget, { now, openedAt });
  return {
    v: 1,
    run,
    totals,
    level: isAtLeast(plan.level, level) ? plan.level : level,
    announced: plan.level,
    phase: plan.phase?.phase,
    warnedPhase: plan.phase?.nearEnd ? plan.phase.phase : mirrorOfRun(input)?.warnedPhase,
    nearest: nearest.limit,
    share: Number.isFinite(nearest.share) ? nearest.share : 1,
    balance,
    ...turn,
  };
}

function mirrorOfRun(input: StepInput): BudgetMirror | undefined {
  return input.mirror?.run === input.record.run ? input.mirror : undefined;
}

function announcedBefore(mirror: BudgetMirror | undefined, level: BudgetLevel): BudgetLevel {
  const told = mirror?.announced ?? "normal";
  return BUDGET_LEVELS.indexOf(told) > BUDGET_LEVELS.indexOf(level) ? level : told;
}

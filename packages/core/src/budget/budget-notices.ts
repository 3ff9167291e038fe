import type { Notice } from "../messages/notices.ts";
import type { StopReason } from "../run/run-state.ts";
import type { PhasePosition } from "./budget-phases.ts";
import type { LimitPosition } from "./budget-policy.ts";
import type { BudgetLevel, BudgetLimitName } from "./budget-state.ts";

/** Why a run has to end: the limit that is used up, LangGraph's step limit, or (`strict`) a provider that reports no usage. */
export type EndCause = BudgetLimitName | "step_limit" | "unmeasured";

/** Names of the limits for people and models. */
const NAMES: Readonly<Record<EndCause, string>> = {
  tokens: "token budget",
  time: "time budget",
  deadline: "time until the deadline",
  modelCalls: "number of model calls",
  toolCalls: "number of tool calls",
  steps: "number of steps",
  cost: "cost budget",
  concurrency: "number of parallel calls",
  step_limit: "number of steps that the graph may take",
  unmeasured: "measured budget",
};

function limitName(cause: EndCause): string {
  return NAMES[cause];
}

/** The cause as one sentence. */
export function causeText(cause: EndCause): string {
  return cause === "unmeasured"
    ? "The model's provider reports no usage, so the budget cannot be kept."
    : `The ${NAMES[cause]} is used up.`;
}

export function stopReasonOf(cause: EndCause): StopReason {
  return cause === "step_limit" ? "step_limit" : `budget:${cause}`;
}

/** What the model is told at a level; undefined where nothing has to be. */
export function levelNotice(level: BudgetLevel, nearest: LimitPosition): Notice | undefined {
  const left = `About ${Math.max(0, Math.round((1 - nearest.share) * 100))}% of the ${limitName(nearest.limit)} is left.`;
  switch (level) {
    case "economy":
      return notice(`${left} Keep answers and thoughts short, and do what matters most for the task first.`);
    case "essential":
      return notice(
        `${left} Skip every step that the result does not need. Optional tools may be gone. ` +
          "Prepare to answer with what you have.",
      );
    case "normal":
    case "wrap-up":
    case "stop":
      return undefined;
  }
}

/** The instruction of the closing call. */
export function closingNotice(cause: EndCause): Notice {
  return notice(
    `This is the last answer of this run. ${causeText(cause)} No tool can be called any more. ` +
      "Answer now from what is above: state what is done, every fact found so far with its source, " +
      "the result as far as it goes, and what is still open. Say that the result is partial if it is.",
  );
}

export function phaseNotice(position: PhasePosition): Notice {
  return notice(
    `The phase "${position.phase}" has almost used its part of the budget. Finish it; next is "${position.next}".`,
  );
}

export function phaseBegins(phase: string): Notice {
  return notice(`The phase "${phase}" of the task begins now. Go on with it, the one before it is over.`);
}

/** Answer to a tool call that is not run because no more are in the budget. */
export function toolCallRefusal(limit: number): string {
  return (
    `Not run: all ${limit} tool calls of this run's budget are used. Do not call tools any more; ` +
    "answer with what you have, and say what is missing."
  );
}

function notice(text: string): Notice {
  return { kind: "budget", text };
}

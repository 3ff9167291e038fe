import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { readSeal, type Seal, sealed, sealMessage } from "../run/seal.ts";
import { type EndCause, stopReasonOf } from "./budget-notices.ts";
import type { StepPlan } from "./budget-step.ts";
import { stopReport } from "./stop-report.ts";

type Values = Parameters<typeof stopReport>[1];

/** Which limit ends the run. */
export function endCause(plan: StepPlan): EndCause {
  return plan.cause ?? plan.position.nearest.limit;
}

/** How a run stands that its budget ended: it can go on with a larger limit. */
export function budgetSeal(plan: StepPlan): Seal {
  return { status: "PAUSED", reason: stopReasonOf(endCause(plan)) };
}

/** The answer of a run whose budget leaves no call: a report made by code from progress and memory. */
export function budgetReport(plan: StepPlan, values: Values, messages: readonly BaseMessage[]): AIMessage {
  return sealMessage(budgetSeal(plan), stopReport(endCause(plan), values, messages));
}

/** Seals the answer of the closing call: calls in it are not run, its text is kept, an empty one is replaced by the report. */
export function closeAnswer(
  plan: StepPlan,
  answer: AIMessage,
  values: Values,
  messages: readonly BaseMessage[],
): AIMessage {
  // An inner guard has ended the run already, for its own reason.
  if (readSeal(answer)) return answer;
  const emptyText = stopReport(endCause(plan), values, messages);
  return sealed(answer, budgetSeal(plan), { withoutCalls: true, emptyText });
}

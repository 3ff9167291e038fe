import { isAssistant } from "../messages/groups.ts";
import type { RunStatus, StopReason } from "../run/run-state.ts";
import { readSeal } from "../run/seal.ts";
import type { Head } from "./head.ts";

export interface RunOutcome {
  readonly status: RunStatus;
  readonly stopReason?: StopReason | undefined;
}

const GUARD_ENDS: readonly unknown[] = ["PAUSED", "FAILED", "NEEDS_HUMAN"];

/**
 * How a run stands whose graph returned without an error. A question or breakpoint leaves tasks behind: it is PAUSED without
 * a stop reason. Otherwise the graph is done, and the seal of the last message or the run channel says if a guard did it.
 */
export function outcomeOf(head: Head): RunOutcome {
  if (!head.finished) return { status: "PAUSED" };
  const last = head.messages.at(-1);
  const seal = last && isAssistant(last) ? readSeal(last) : undefined;
  if (seal) return { status: seal.status, stopReason: seal.reason };
  const channel = head.values._longhaulRun as
    | { readonly status?: RunStatus; readonly stopReason?: StopReason }
    | undefined;
  if (channel?.stopReason !== undefined && GUARD_ENDS.includes(channel.status)) {
    return { status: channel.status as RunStatus, stopReason: channel.stopReason };
  }
  return { status: "COMPLETED", stopReason: "final_answer" };
}

import type { BaseMessage } from "@langchain/core/messages";
import type { Notice } from "../messages/notices.ts";
import type { ResolvedProgressOptions } from "./progress-options.ts";
import type { ProgressState } from "./progress-state.ts";

/**
 * The closing text when the step just finished held the checkpoint that ends the run for want of progress, otherwise
 * undefined. A person's message after it starts a new run.
 */
export function progressStop(
  state: ProgressState,
  messages: readonly BaseMessage[],
  options: ResolvedProgressOptions,
): string | undefined {
  if (state.idle < options.idleCheckpoints || !state.judged) return undefined;
  const last = messages.findLast((message) => message.getType() !== "tool");
  if (last?.id !== state.judged.assistantId) return undefined;
  const { latest } = state;
  return [
    `Stopped: ${state.idle} progress checkpoints in a row brought nothing new. A person is needed to go on.`,
    ...(latest && latest.done.length > 0 ? [`Done so far: ${latest.done.join("; ")}.`] : []),
    ...(latest && latest.facts.length > 0
      ? [`Facts so far: ${latest.facts.map((fact) => `${fact.text} (${fact.source})`).join("; ")}.`]
      : []),
    ...(latest && latest.todo.length > 0 ? [`Still to do: ${latest.todo.join("; ")}.`] : []),
    ...(latest && latest.open.length > 0 ? [`Open: ${latest.open.join("; ")}.`] : []),
  ].join("\n");
}

/** How many turns the model is asked to checkpoint and reset before the context is folded without it. */
export const RESET_ASKS = 2;

/** What the context concern says about the working layer (`foldPressure`). */
export interface ResetPressure {
  /** Working tokens are past the soft limit. */
  readonly over: boolean;
  /** Step of the last fold or reset: what was asked then or before belongs to an earlier working layer. */
  readonly since: number;
  /** Number of the step that the next answer is. */
  readonly step: number;
}

/**
 * The new `asked` when the model is to be asked for a checkpoint and a reset before this call, otherwise undefined. Asked for
 * two turns in each working layer; then the fold happens, and a later one may ask again.
 */
export function askForReset(state: ProgressState, pressure: ResetPressure): ProgressState["asked"] {
  const times = state.asked && state.asked.atStep > pressure.since ? state.asked.times : 0;
  if (!pressure.over) return undefined;
  // The same step again (a request that is built anew) is asked again and counts once.
  if (times > 0 && state.asked?.atStep === pressure.step) return state.asked;
  if (times >= RESET_ASKS) return undefined;
  return { atStep: pressure.step, times: times + 1 };
}

export function askNotice(options: ResolvedProgressOptions): Notice {
  return {
    kind: "progress",
    text:
      `The context is nearly full. Call ${options.checkpointName} with what is verified, done, to do and open, ` +
      `then ${options.resetName}; both may be in one turn. What is not in the checkpoint leaves your sight.`,
  };
}

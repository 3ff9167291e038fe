import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { Emit } from "../events/event.ts";
import { sealMessage } from "../run/seal.ts";
import { progressStop } from "./progress-guard.ts";
import type { ResolvedProgressOptions } from "./progress-options.ts";
import type { ProgressState } from "./progress-state.ts";

/** Takes the place of the next model call when the run only checkpoints and moves nothing: it ends, sealed NEEDS_HUMAN. */
export function guardProgress(
  state: ProgressState,
  messages: readonly BaseMessage[],
  options: ResolvedProgressOptions,
  emit: Emit,
): AIMessage | undefined {
  const report = progressStop(state, messages, options);
  if (report === undefined) return undefined;
  emit({ type: "progress.stop", idle: state.idle });
  return sealMessage({ status: "NEEDS_HUMAN", reason: "no_progress" }, report, options.deps.newId());
}

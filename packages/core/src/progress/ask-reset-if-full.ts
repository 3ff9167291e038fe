import type { ResolvedContextOptions } from "../context/context-options.ts";
import type { ContextState, RequestParts } from "../context/context-state.ts";
import { foldPressure } from "../context/fold-pressure.ts";
import type { Emit } from "../events/event.ts";
import type { Notice } from "../messages/notices.ts";
import { askForReset, askNotice } from "./progress-guard.ts";
import type { ResolvedProgressOptions } from "./progress-options.ts";
import { type ProgressState, readProgress } from "./progress-state.ts";

/** Asks the model for a checkpoint and a reset where the working layer is full; undefined where it is not to be asked. */
export function askResetIfFull(
  state: ContextState,
  options: { readonly progress: ResolvedProgressOptions; readonly context: ResolvedContextOptions },
  request: RequestParts,
  emit: Emit,
): { readonly notice: Notice; readonly progress: ProgressState } | undefined {
  const progress = readProgress(state._longhaulProgress);
  const pressure = foldPressure(state, options.context, request);
  const asked = askForReset(progress, pressure);
  if (!asked) return undefined;
  if (asked !== progress.asked)
    emit({ type: "reset.asked", times: asked.times, workingTokens: pressure.workingTokens });
  return { notice: askNotice(options.progress), progress: { ...progress, asked } };
}

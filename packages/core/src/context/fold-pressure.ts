import { measureContext } from "./build-context.ts";
import type { ResolvedContextOptions } from "./context-options.ts";
import { type ContextState, type RequestParts, readContext } from "./context-state.ts";

/** How near the working layer is to a fold. Tokens are calibrated. */
export interface FoldPressure {
  readonly workingTokens: number;
  readonly softLimit: number;
  /** Whether the soft limit is passed. */
  readonly over: boolean;
  /** Requests for a checkpoint and reset at this agent step or before belong to an earlier working layer. */
  readonly since: number;
  /** Number of the agent step that the next answer is. */
  readonly step: number;
}

/** For whoever asks the model to reset before a fold happens: the same measure that decides the fold. Pure. */
export function foldPressure(
  state: ContextState,
  options: ResolvedContextOptions,
  request: RequestParts = {},
): FoldPressure {
  const parts = readContext(state, options, request);
  const { workingTokens, softLimit } = measureContext(parts);
  return {
    workingTokens,
    softLimit,
    over: workingTokens > softLimit,
    since: parts.memory.lastFold?.step ?? 0,
    step: parts.layers.nextStep,
  };
}

import {
  appendNotice,
  askResetIfFull,
  type ContextOptions,
  createCheckpointTool,
  createResetTool,
  currentEmitter,
  guardProgress,
  InvalidOptionsError,
  type LonghaulValues,
  type ProgressOptions,
  profileWindow,
  readProgress,
  resolveContextOptions,
  resolveProgressOptions,
  takeNotices,
  viewAfterReset,
  withNotices,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { channelSchema } from "./shared/channels.ts";
import { commitModelCall, type ModelCallResult } from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";

export interface ProgressMiddlewareOptions extends ProgressOptions, CommonOptions {
  /**
   * Who shows a granted reset: `own`: this middleware cuts the request itself; `context`: `contextMiddleware` further in does,
   * with summaries, index and constraints. @default "own"
   */
  readonly view?: "own" | "context" | undefined;
  /** The options of the context, for its soft limit: past it the model is asked to reset. @default the context's defaults */
  readonly context?: ContextOptions | undefined;
}

/**
 * Gives the model the tools `checkpoint` and `reset`, asks for them when the context fills, and ends a run that only
 * checkpoints.
 *
 * - Past the soft limit of working tokens, a notice asks for a checkpoint and a reset, for two turns.
 * - After a granted reset the request holds the system prompt, the goal, the checkpoint and what came after.
 * - The third checkpoint in a row without anything new ends the run: the model is not called, the answer is sealed
 *   `NEEDS_HUMAN`, `no_progress`, and no call is left open. A new human message goes on.
 *
 * Place in the chain: outside `contextMiddleware`, inside budget and loop detection. Only `wrapModelCall`; `messages` in the
 * state stay as they are. Replay and resume: everything is computed from `messages` and `_longhaulProgress`, so a repeated
 * step asks, cuts and ends in the same way.
 *
 * @throws InvalidOptionsError at once; at a call StateFormatError
 */
export function progressMiddleware(options: ProgressMiddlewareOptions = {}) {
  const resolved = resolveProgressOptions(options);
  const context = resolveContextOptions(options.context);
  const view = options.view ?? "own";
  if (view !== "own" && view !== "context") {
    throw new InvalidOptionsError({ option: "view", value: view, expected: '"own" or "context"' });
  }

  return createMiddleware({
    name: "LonghaulProgress",
    stateSchema: channelSchema(
      "_longhaulProgress",
      "_longhaulTask",
      "_longhaulMemory",
      "_longhaulData",
      "_longhaulBudget",
    ),
    tools: [createCheckpointTool(options), createResetTool(options)],
    wrapModelCall: async (request, handler) => {
      const values = request.state as LonghaulValues;
      const progress = readProgress(values._longhaulProgress);
      const { messages, notices } = takeNotices(request.messages);
      const emit = currentEmitter(options.events, resolved.deps.clock);

      const end = guardProgress(progress, request.state.messages, resolved, emit);
      if (end) return end;

      const shown = view === "own" ? viewAfterReset(messages, progress, values._longhaulData) : messages;
      const outgoing = withNotices(shown, notices);
      const asked = askResetIfFull(
        { ...values, messages },
        { progress: resolved, context },
        {
          system: request.systemMessage,
          prependSystem: false,
          tools: request.tools,
          profileWindow: profileWindow(request.model),
        },
        emit,
      );
      const result = (await handler({
        ...request,
        messages: asked ? appendNotice(outgoing, asked.notice) : outgoing,
      })) as ModelCallResult;
      return commitModelCall(result, { _longhaulProgress: asked?.progress });
    },
  });
}

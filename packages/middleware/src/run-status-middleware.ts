import {
  appendNotice,
  assertPermitted,
  beginStep,
  currentEmitter,
  dueResumeNote,
  endStep,
  readRunState,
  reportMove,
  withSystemDeps,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { channelSchema } from "./shared/channels.ts";
import {
  answerOf,
  commitModelCall,
  isStructuredAnswer,
  type ModelCallResult,
} from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";

/**
 * Keeps the state of the run in `_longhaulRun`: RUNNING, WAITING_TOOL, COMPLETED, or what a guard sealed (PAUSED, NEEDS_HUMAN,
 * FAILED, with its reason and the mark "partial"), the agent step and since when. Shows the model, once, the note that
 * `superviseRun` puts into the config after a resume.
 *
 * Place in the chain: outermost, so that it sees the answer as all others leave it. On replay of a step it computes the
 * same again; a step that was not saved does not count. Two moves are events for each step (`run.moved`), none is a
 * message. Throws `ForbiddenMoveError` when a tool is to run although the run is over, and `StateFormatError` for a
 * channel that cannot be read.
 */
export function runStatusMiddleware(options: Pick<CommonOptions, "events" | "deps"> = {}) {
  const { clock } = withSystemDeps(options.deps);

  return createMiddleware({
    name: "LonghaulRunStatus",
    stateSchema: channelSchema("_longhaulRun"),

    wrapModelCall: async (request, handler) => {
      const before = readRunState(request.state._longhaulRun);
      const emit = currentEmitter(options.events, clock, before.step + 1);
      const note = dueResumeNote(request.state.messages);
      const running = beginStep(before, clock.now(), note);
      reportMove(emit, before, running);
      const result = (await handler(
        note
          ? { ...request, messages: appendNotice(request.messages, { kind: "resume", text: note.note }) }
          : request,
      )) as ModelCallResult;
      const after = endStep(running, answerOf(result), isStructuredAnswer(result), clock.now());
      reportMove(emit, running, after);
      return commitModelCall(result, { _longhaulRun: after });
    },

    wrapToolCall: async (request, handler) => {
      const value = (request.state as { _longhaulRun?: unknown })._longhaulRun;
      // Without a value this middleware did not see the call being asked for: an older thread, or calls put in by hand.
      if (value !== undefined) assertPermitted(readRunState(value).status, "tool");
      return handler(request);
    },
  });
}

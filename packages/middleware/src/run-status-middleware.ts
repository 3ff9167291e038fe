import {
  appendNotice,
  assertPermitted,
  beginStep,
  type Emit,
  endStep,
  type ResumeNotice,
  type RunState,
  readResumeNotice,
  readRunState,
  withSystemDeps,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { ambientGraph } from "./shared/ambient-graph.ts";
import { channelSchema } from "./shared/channels.ts";
import {
  answerOf,
  commitModelCall,
  isStructuredAnswer,
  type ModelCallResult,
} from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";
import { currentEmitter } from "./shared/origin.ts";

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
  const notes = new ResumeNotes();

  return createMiddleware({
    name: "LonghaulRunStatus",
    stateSchema: channelSchema("_longhaulRun"),

    wrapModelCall: async (request, handler) => {
      const before = readRunState(request.state._longhaulRun);
      const emit = currentEmitter(options.events, clock, before.step + 1);
      const note = notes.due(before.step, request.runtime.configurable?.longhaul_resume);
      const running = beginStep(before, clock.now(), note);
      emitMove(emit, before, running);
      const result = (await handler(
        note
          ? { ...request, messages: appendNotice(request.messages, { kind: "resume", text: note.note }) }
          : request,
      )) as ModelCallResult;
      const after = endStep(running, answerOf(result), isStructuredAnswer(result), clock.now());
      emitMove(emit, running, after);
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

function emitMove(emit: Emit, from: RunState, to: RunState): void {
  if (from.status === to.status) return;
  emit({
    type: "run.moved",
    from: from.status,
    to: to.status,
    ms: from.since === 0 ? 0 : Math.max(0, to.since - from.since),
    ...(to.stopReason === undefined ? {} : { stopReason: to.stopReason }),
    ...(to.partial ? { partial: true } : {}),
  });
}

/**
 * The config of a resume stays the same for the whole invocation, the note is for its first model call only. What tells
 * invocations apart is the stream writer, of which each has its own.
 */
class ResumeNotes {
  readonly #shownAt = new WeakMap<object, number>();

  due(step: number, value: unknown): ResumeNotice | undefined {
    const note = readResumeNotice(value);
    if (!note) return undefined;
    const { invocation, namespace } = ambientGraph();
    // A subagent inherits the config, but it was its parent that was resumed.
    if (namespace.includes("|")) return undefined;
    if (!invocation) return note;
    const shownAt = this.#shownAt.get(invocation) ?? step;
    this.#shownAt.set(invocation, shownAt);
    // The same step again is a retry within the invocation: its first try was not kept.
    return shownAt === step ? note : undefined;
  }
}

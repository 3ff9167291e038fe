import type { AIMessage } from "@langchain/core/messages";
import { move } from "./run-machine.ts";
import type { RunState, RunStatus, StopReason } from "./run-state.ts";
import { readSeal } from "./seal.ts";

/** What `configurable.longhaul_resume` carries after a resume. */
export interface ResumeNotice {
  /** For the model, a few lines. */
  readonly note: string;
  /** For the state, one line. */
  readonly lastFailure?: string | undefined;
}

/** Reads `configurable.longhaul_resume`; anything else in it is ignored, it comes from the caller's config. */
export function readResumeNotice(value: unknown): ResumeNotice | undefined {
  const { note, lastFailure } = (value ?? {}) as { note?: unknown; lastFailure?: unknown };
  if (typeof note !== "string" || note === "") return undefined;
  return { note, ...(typeof lastFailure === "string" ? { lastFailure } : {}) };
}

/** The run while the model works: whatever was, a model call begins a new stretch of work. */
export function beginStep(before: RunState, now: number, resume?: ResumeNotice | undefined): RunState {
  const { lastFailure: _gone, ...rest } = move(before, "RUNNING", { now });
  if (!resume) return rest;
  return {
    ...rest,
    resumes: before.resumes + 1,
    ...(resume.lastFailure === undefined ? {} : { lastFailure: resume.lastFailure }),
  };
}

/**
 * The run after the model's answer.
 *
 * @param answer undefined when nothing came back that could be read
 * @param structured the answer was structured output, whose "tool call" is answered already
 */
export function endStep(
  running: RunState,
  answer: AIMessage | undefined,
  structured: boolean,
  now: number,
): RunState {
  const { status, stopReason, partial } = outcomeOf(answer, structured);
  return { ...move(running, status, { now, stopReason, partial }), step: running.step + 1 };
}

function outcomeOf(
  answer: AIMessage | undefined,
  structured: boolean,
): { status: RunStatus; stopReason?: StopReason; partial?: boolean } {
  const seal = answer && readSeal(answer);
  if (seal) return { status: seal.status, stopReason: seal.reason, partial: true };
  if (!structured && (answer?.tool_calls?.length ?? 0) > 0) return { status: "WAITING_TOOL" };
  return { status: "COMPLETED", stopReason: "final_answer" };
}

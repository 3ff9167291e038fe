import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { UNSETTLED_FIELD } from "../effects/effect-messages.ts";
import { replay } from "../effects/replay.ts";
import { groupMessages } from "../messages/groups.ts";
import type { KnownCall } from "./known-calls.ts";

/** A tool call without a result. */
export interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/** Why a call is answered by Longhaul and not by its tool. */
export type OpenCallReason = "superseded" | "gave-up";

const WHY: Readonly<Record<OpenCallReason, string>> = {
  superseded: "This call did not finish: the run was interrupted and a new message came in.",
  "gave-up": "This call was given up after repeated failures.",
};
const UNKNOWN: Readonly<Record<OpenCallReason, string>> = {
  superseded: "Its outcome is unknown; if it may have changed something, verify that before you repeat it.",
  "gave-up": "Its outcome is unknown; verify before you repeat it, or go on without it.",
};
const NOT_DONE = "It had not taken effect.";

/** The calls of the last assistant message: those without a result, and the tools of those with one. */
export function lastCalls(messages: readonly BaseMessage[]): {
  readonly open: readonly OpenCall[];
  readonly answered: readonly string[];
} {
  const calls = groupMessages(messages).findLast((group) => group.kind === "step")?.calls ?? [];
  return {
    open: calls.flatMap(({ id, name, result }) => (result || id === undefined ? [] : [{ id, name }])),
    answered: calls.flatMap(({ name, result }) => (result ? [name] : [])),
  };
}

/** What is said in the answers. */
export interface OpenCallsAnswer {
  readonly reason: OpenCallReason;
  /** One line about the last failure. @default none */
  readonly detail?: string | undefined;
  /** What is recorded of the calls. @default nothing */
  readonly known?: ReadonlyMap<string, KnownCall> | undefined;
  /** Milliseconds since 1970, for the age of a stored result. */
  readonly now: number;
}

/**
 * Results for calls that a run left open, so that its history stays valid for every provider: the stored result of a call
 * whose effect is done, else an error that says what is known. Asking again for what is not settled is the same intent.
 */
export function answerOpenCalls(calls: readonly OpenCall[], answer: OpenCallsAnswer): ToolMessage[] {
  return calls.map((call) => {
    const known = answer.known?.get(call.id);
    return known?.record.state === "committed"
      ? storedAnswer(call, known, answer.now)
      : unsettledAnswer(call, known, answer);
  });
}

function storedAnswer(call: OpenCall, { key, record }: KnownCall, now: number): ToolMessage {
  const outcome = record.outcome ?? { ok: true, value: null };
  const mark = { key, ageMs: Math.max(0, now - record.updatedAt) };
  const value = replay({ name: call.name, callId: call.id, answersCall: true }, outcome, mark);
  if (ToolMessage.isInstance(value)) return value;
  // of a Command only its answer to the call can be said here
  const { update } = value as { readonly update?: { readonly messages?: unknown } };
  const messages = [update?.messages].flat();
  const own = messages.find((part) => ToolMessage.isInstance(part) && part.tool_call_id === call.id);
  return (own ??
    replay(
      { name: call.name, callId: call.id, answersCall: true },
      { ok: true, value: null },
      mark,
    )) as ToolMessage;
}

function unsettledAnswer(
  { id, name }: OpenCall,
  known: KnownCall | undefined,
  { reason, detail }: OpenCallsAnswer,
): ToolMessage {
  const state = known?.record.state;
  const isNotDone = state === "failed" || state === "suspended";
  const parts = [
    WHY[reason],
    isNotDone ? NOT_DONE : UNKNOWN[reason],
    ...(known && !isNotDone ? [`Reference: ${known.key}.`] : []),
    ...(detail === undefined ? [] : [`Last failure: ${detail}`]),
  ];
  return new ToolMessage({
    content: parts.join(" "),
    tool_call_id: id,
    name,
    status: "error",
    additional_kwargs: {
      longhaul_placeholder: reason,
      [UNSETTLED_FIELD]: { state: state ?? "unknown", ...(known ? { key: known.key } : {}) },
    },
  });
}

import { ToolMessage } from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import { replayedMessage } from "./effect-messages.ts";
import type { StoredOutcome } from "./effect-record.ts";
import { decodeResult } from "./stored-result.ts";

/** A call that gets the answer. */
export interface AnsweredCall {
  /** Of the tool. */
  readonly name: string;
  readonly callId: string | undefined;
  /** Invoked with a tool call, so that it answers with a tool message. */
  readonly answersCall: boolean;
}

const NO_RESULT = "Done. The result of this call was not recorded.";

/**
 * The stored outcome as the answer to a call, marked as stored. Invoked with bare arguments, a tool gives the bare value back.
 * A refusal comes back as the error result that it was.
 */
export function replay(
  call: AnsweredCall,
  outcome: StoredOutcome,
  mark: { readonly key: string; readonly ageMs: number },
): unknown {
  if (!outcome.ok) {
    if (!call.answersCall) throw new Error(outcome.message);
    return replayedMessage(message(call, outcome.message, "error"), mark);
  }
  const value = decodeResult(outcome.value, call.callId);
  if (ToolMessage.isInstance(value)) return replayedMessage(value, mark);
  if (isCommand(value)) return markCommand(value as Command, call.callId, mark);
  if (!call.answersCall) return value;
  const content = value === null ? NO_RESULT : typeof value === "string" ? value : JSON.stringify(value);
  return replayedMessage(message(call, content, "success"), mark);
}

function message(call: AnsweredCall, content: string, status: "success" | "error"): ToolMessage {
  return new ToolMessage({ content, status, name: call.name, tool_call_id: call.callId ?? "" });
}

/** The mark goes on the tool message that answers the call, inside the update. */
function markCommand(
  command: Command,
  callId: string | undefined,
  mark: { readonly key: string; readonly ageMs: number },
): Command {
  const markOne = (part: unknown) =>
    ToolMessage.isInstance(part) && part.tool_call_id === callId ? replayedMessage(part, mark) : part;
  const markField = ([key, value]: [string, unknown]): [string, unknown] =>
    key === "messages" ? [key, Array.isArray(value) ? value.map(markOne) : markOne(value)] : [key, value];
  const { update, graph, goto, resume } = command;
  const marked = Array.isArray(update)
    ? (update as [string, unknown][]).map(markField)
    : update && Object.fromEntries(Object.entries(update).map(markField));
  const fields = { graph, goto, resume, update: marked };
  return new Command(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
}

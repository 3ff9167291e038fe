import { ToolMessage } from "@langchain/core/messages";

/** In `additional_kwargs` of a result: the call's outcome is still open, so asking again is the same intent. */
export const UNSETTLED_FIELD = "longhaul_unsettled";
/** In `additional_kwargs` of a result: it was stored, not fetched anew. */
export const REPLAYED_FIELD = "longhaul_replayed";

interface Answered {
  readonly tool: string;
  readonly callId: string | undefined;
  readonly key: string;
}

/** Tells the model that nobody knows whether the effect happened. */
export function unknownMessage(call: Answered, reason: string): ToolMessage {
  return unsettled(
    call,
    "unknown",
    `The outcome of this call of ${call.tool} is unknown (${reason}): it may have taken effect. It was not run again. ` +
      `Verify first, with another tool or by asking the user; calls of ${call.tool} with the same arguments are held back until this ` +
      `is settled. Reference: ${call.key}`,
  );
}

export function inProgressMessage(call: Answered): ToolMessage {
  return unsettled(
    call,
    "in-progress",
    `The same call of ${call.tool} is still in progress and was not started a second time. Ask again later. Reference: ${call.key}`,
  );
}

/** The stored result, with a mark that the model can see. Never mutates what it was given. */
export function replayedMessage(
  message: ToolMessage,
  fields: { readonly key: string; readonly ageMs: number },
): ToolMessage {
  const mark = `[Stored result of ${age(fields.ageMs)} ago: this call was not run again.]`;
  const { content } = message;
  return new ToolMessage({
    ...toolMessageFields(message),
    content:
      typeof content === "string" ? `${content}\n\n${mark}` : [...content, { type: "text", text: mark }],
    additional_kwargs: {
      ...message.additional_kwargs,
      [REPLAYED_FIELD]: { key: fields.key, ageMs: fields.ageMs },
    },
  } as ConstructorParameters<typeof ToolMessage>[0]);
}

/** `42 s`, `3 min`, `5 h`, `2 d`. */
function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

function unsettled(call: Answered, state: string, text: string): ToolMessage {
  return new ToolMessage({
    content: text,
    name: call.tool,
    status: "error",
    tool_call_id: call.callId ?? "",
    additional_kwargs: { [UNSETTLED_FIELD]: { state, key: call.key } },
  });
}

function toolMessageFields(message: ToolMessage): { tool_call_id: string } {
  const { artifact, name, status, tool_call_id, metadata, id } = message;
  const fields = { artifact, name, status, tool_call_id, metadata, id };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { tool_call_id: string };
}

import type { AIMessage } from "@langchain/core/messages";
import { messageText } from "../messages/message-text.ts";
import { type LoopOptions, resolveLoopOptions } from "./loop-options.ts";
import type { LoopState } from "./loop-state.ts";

export interface ReplyVerdict {
  readonly state: LoopState;
  /** `accept`: a call or an answer; `nudge`: ask again; `end`: asked often enough. */
  readonly verdict: "accept" | "nudge" | "end";
  readonly reason?: "empty" | "no_progress";
}

/**
 * Judges an answer of the model. One with neither a call nor anything to say, or that only announces that work goes on,
 * would end the agent as if it were done. Counted in state, in a row; a nudge is never recognised by its wording. Pure.
 */
export function observeReply(state: LoopState, reply: AIMessage, options?: LoopOptions): ReplyVerdict {
  const { announces, nudges } = resolveLoopOptions(options);
  const text = messageText(reply).trim();
  const empty = text === "";
  if ((reply.tool_calls?.length ?? 0) > 0 || (!empty && !announces(text))) {
    return { verdict: "accept", state: state.idleReplies === 0 ? state : { ...state, idleReplies: 0 } };
  }
  const counted = { ...state, idleReplies: state.idleReplies + 1 };
  const reason = empty ? "empty" : "no_progress";
  return { state: counted, verdict: counted.idleReplies > nudges ? "end" : "nudge", reason };
}

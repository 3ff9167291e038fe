import { END, Send } from "@langchain/langgraph";
import { isAssistant, readSeal } from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";

/**
 * Conditional edge behind the model node: one `Send` to the node "tools" for each call, so that each is a task of its own and a
 * finished one is not run again after a crash; the end when there is nothing to run.
 */
export function routeAfterModel(state: LonghaulNodeState): typeof END | Send[] {
  const last = state.messages.at(-1);
  if (!last || !isAssistant(last) || readSeal(last)) return END;
  const calls = last.tool_calls ?? [];
  if (calls.length === 0) return END;
  // The request was for the model, and a Send is stored.
  const { longhaulRequest: _request, ...given } = state;
  return calls.map((call) => new Send("tools", { ...given, lg_tool_call: call }));
}

/** Conditional edge behind `guardNode`: on to the node "context", or the end when the guard has sealed the run. */
export function routeAfterGuard(state: LonghaulNodeState): typeof END | "context" {
  const last = state.messages.at(-1);
  return last && isAssistant(last) && readSeal(last) ? END : "context";
}

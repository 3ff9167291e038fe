import { ToolMessage } from "@langchain/core/messages";
import { type LoopOptions, resolveLoopOptions } from "./loop-options.ts";
import type { LoopState } from "./loop-state.ts";
import { actionKey } from "./observed-action.ts";

const FIELD = "longhaul_blocked";

/**
 * The error result for a call that belongs to a loop which has reached the block; undefined for a call that may run. Pure.
 * The result is marked, so that the detector counts it as one more round and not as news.
 */
export function blockedCall(
  state: LoopState,
  call: { readonly id?: string | undefined; readonly name: string; readonly args?: unknown },
  options?: LoopOptions,
): ToolMessage | undefined {
  const key = actionKey({ tool: call.name, args: call.args }, resolveLoopOptions(options));
  const blocked = Object.values(state.rungs).some(
    ({ rung, last, actions }) =>
      rung !== "hint" && last === state.steps && key !== undefined && actions.includes(key),
  );
  if (!blocked) return undefined;
  return new ToolMessage({
    status: "error",
    name: call.name,
    tool_call_id: call.id ?? "",
    content:
      `Not run: ${call.name} with these arguments has been called again and again with the same result, and the result ` +
      "will not change. Take another way, or say what is missing and give your answer. Going on like this ends the run.",
    additional_kwargs: { [FIELD]: true },
  });
}

/** Whether a result is a block's. */
export function isBlocked(message: ToolMessage): boolean {
  return (message.additional_kwargs as Record<string, unknown>)[FIELD] === true;
}

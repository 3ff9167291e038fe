import { type ToolCall, ToolMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import { EffectConflictError, SharedFailureError } from "../effects/effect-errors.ts";
import { LonghaulError } from "../errors.ts";
import { thrownValue } from "./thrown-value.ts";
import { ToolArgumentsCutError, ToolTimeoutError } from "./tool-errors.ts";

/**
 * Whether the model should hear of an error, as it would from a tool node without middleware. Not of bubble-ups (interrupts,
 * drains), a cancelled run, and errors of Longhaul that say a guard cannot work or the task is hopeless.
 */
export function isForModel(thrown: unknown, signal: AbortSignal | undefined): boolean {
  const error = thrownValue(thrown) as Error;
  if (isGraphBubbleUp(error) || signal?.aborted) return false;
  if (!LonghaulError.isInstance(error)) return true;
  return (
    EffectConflictError.isInstance(error) ||
    SharedFailureError.isInstance(error) ||
    ToolArgumentsCutError.isInstance(error) ||
    ToolTimeoutError.isInstance(error)
  );
}

/** The error as the result of its call. */
export function toolErrorMessage(error: unknown, call: Pick<ToolCall, "id" | "name">): ToolMessage {
  return new ToolMessage({
    content: `${String(thrownValue(error))}\n Please fix your mistakes.`,
    name: call.name,
    status: "error",
    tool_call_id: call.id ?? "",
  });
}

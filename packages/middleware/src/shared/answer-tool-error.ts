import { ToolMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import { LonghaulError } from "@longhaul/core";
import { MiddlewareError, type ToolCallRequest, ToolInvocationError } from "langchain";

/**
 * The answer to a call whose tool threw, as an agent without `wrapToolCall` middleware gives it: merely having the hook
 * would make the exception fatal. What must not be answered is thrown on: interrupts and other bubble-ups, an aborted run,
 * Longhaul's own errors, what another middleware threw on purpose, and argument errors, which the tool node answers itself.
 */
export function answerToolError(
  error: unknown,
  request: Pick<ToolCallRequest, "toolCall" | "runtime">,
): ToolMessage {
  if (
    isGraphBubbleUp(error) ||
    request.runtime?.signal?.aborted ||
    MiddlewareError.isInstance(error) ||
    ToolInvocationError.isInstance(error) ||
    LonghaulError.isInstance(error)
  ) {
    throw error;
  }
  return new ToolMessage({
    content: `${String(error)}\n Please fix your mistakes.`,
    tool_call_id: request.toolCall.id ?? "",
    name: request.toolCall.name,
    status: "error",
  });
}

import type { ToolMessage } from "@langchain/core/messages";
import { type Command, isGraphBubbleUp } from "@langchain/langgraph";
import {
  BypassedGuardError,
  currentEmitter,
  type EventSink,
  guardTool,
  isForModel,
  isInvokable,
  type ToolGuards,
  toolErrorMessage,
  toolTraits,
} from "@longhaul/core";
import { MiddlewareError, type ToolCallHandler, type ToolCallRequest, ToolInvocationError } from "langchain";

/**
 * Puts guards into the tool of a request and passes it on; used by every middleware that guards tools.
 *
 * The tool's error becomes an error result, as without middleware: merely having `wrapToolCall` would make it fatal.
 * `bypassed` holds the tools that another middleware was caught running itself: they are refused before they run again.
 */
export async function guardedCall(
  request: ToolCallRequest,
  handler: ToolCallHandler,
  guards: ToolGuards,
  options: { readonly events: EventSink | undefined; readonly bypassed?: Set<string> | undefined },
): Promise<ToolMessage | Command> {
  const { tool, toolCall } = request;
  const emit = currentEmitter(options.events, guards.clock);
  const { bypassed } = options;
  if (!isInvokable(tool)) {
    if (bypassed) emit({ type: "effect.unguarded", tool: toolCall.name, reason: "dynamic-tool" });
    return answered(request, () => handler(request));
  }
  const watched = bypassed !== undefined && toolTraits(tool, guards.tools).effect !== "none";
  if (watched && bypassed.has(tool.name)) throw new BypassedGuardError({ tool: tool.name });
  let reached = false;
  const guarded = guardTool(tool, {
    ...guards,
    onInvoke: () => {
      reached = true;
    },
  });
  const caught = (cause?: unknown) => {
    bypassed?.add(tool.name);
    emit({ type: "effect.unguarded", tool: tool.name, reason: "bypassed" });
    return new BypassedGuardError({ tool: tool.name, cause });
  };
  return answered(request, async () => {
    let result: ToolMessage | Command;
    try {
      result = await handler({ ...request, tool: guarded as NonNullable<ToolCallRequest["tool"]> });
    } catch (error) {
      // A middleware's own failure, or that of a tool it ran instead: nobody can tell, so it is not run again.
      if (watched && !reached && !isGraphBubbleUp(error)) throw caught(error);
      throw error;
    }
    // An error result without a run is a refusal (a limit, a human's no); any other came from somewhere else.
    if (watched && !reached && (result as { status?: unknown }).status !== "error") throw caught();
    return result;
  });
}

async function answered(
  request: ToolCallRequest,
  work: () => ToolMessage | Command | Promise<ToolMessage | Command>,
): Promise<ToolMessage | Command> {
  try {
    return await work();
  } catch (error) {
    // A middleware that failed is fatal with or without us, and LangChain unwraps argument errors itself.
    if (MiddlewareError.isInstance(error) || ToolInvocationError.isInstance(error)) throw error;
    if (!isForModel(error, request.runtime.signal)) throw error;
    return toolErrorMessage(error, request.toolCall);
  }
}

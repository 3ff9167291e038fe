import type { ProgressOptions } from "../progress/progress-options.ts";
import { declaresEffect, type ToolOptionsMap } from "../tools/tool-options.ts";
import type { ContextOptions } from "./context-options.ts";

/**
 * The context's options in the company of the other concerns: a fold waits for the reset that the progress tools allow, and memory
 * pins the effects of the tools that declare one. What the caller set himself stays.
 */
export function contextFor(given: {
  readonly context?: ContextOptions | undefined;
  readonly progress?: ProgressOptions | false | undefined;
  readonly tools?: ToolOptionsMap | undefined;
}): ContextOptions {
  const { context, progress, tools } = given;
  return {
    askReset: progress !== false,
    ...context,
    summary: { isEffect: declaresEffect(tools), ...context?.summary },
  };
}

import type { BaseMessage } from "@langchain/core/messages";
import { appendNotice } from "../messages/notices.ts";
import { optionsOf, type ToolOptionsMap } from "../tools/tool-options.ts";
import type { StepPlan } from "./budget-step.ts";

/** The parts of a model call that a plan may change. */
export interface Degradable<Tool, Model> {
  readonly messages: readonly BaseMessage[];
  readonly tools: readonly Tool[];
  readonly model: Model;
}

/**
 * The call as a plan wants it: with its notices; from level "essential" on without optional tools and by the cheaper model, if
 * there is one; without any tool where it is the closing one. Tools are left out or kept, never replaced: their instances are
 * their identity.
 */
export function degradeRequest<Tool, Model>(
  request: Degradable<Tool, Model>,
  plan: StepPlan,
  options: { readonly cheaperModel?: Model | undefined; readonly tools?: ToolOptionsMap | undefined },
): { messages: BaseMessage[]; tools: Tool[]; model: Model } {
  const messages = plan.notices.reduce<BaseMessage[]>(appendNotice, [...request.messages]);
  const isClosing = plan.mode === "closing";
  if (!isClosing && plan.level !== "essential")
    return { messages, tools: [...request.tools], model: request.model };
  return {
    messages,
    tools: isClosing ? [] : request.tools.filter((tool) => !optionsOf(options.tools, nameOf(tool)).optional),
    model: options.cheaperModel ?? request.model,
  };
}

function nameOf(tool: unknown): string {
  const { name, function: declared } = (tool ?? {}) as { name?: unknown; function?: { name?: unknown } };
  return String(name ?? declared?.name ?? "");
}

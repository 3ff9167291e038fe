import type { ToolMessage } from "@langchain/core/messages";

const FIELD = "longhaul_progress";

/** Marks the result of a checkpoint or reset call: whether it moved the task on. */
export function progressMark(moved: boolean): { readonly [FIELD]: boolean } {
  return { [FIELD]: moved };
}

/** Whether the result of a checkpoint or reset call moved the task on; undefined for other messages. */
export function readProgressMark(message: ToolMessage): boolean | undefined {
  const mark = (message.additional_kwargs as Record<string, unknown>)[FIELD];
  return typeof mark === "boolean" ? mark : undefined;
}

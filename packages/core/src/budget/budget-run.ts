import type { BaseMessage } from "@langchain/core/messages";

/**
 * Key of the run that budgets count for: the thread and the number of its human turns, so that resumes go on with the same
 * budget and a new message of the user begins a new one. `configurable.longhaul_run` wins.
 */
export function budgetRunOf(
  thread: string,
  messages: readonly BaseMessage[],
  given?: string | undefined,
): string {
  return given ?? `${thread}:${Math.max(1, humanTurns(messages))}`;
}

/** Human messages that are the user's, not Longhaul's own. */
export function humanTurns(messages: readonly BaseMessage[]): number {
  return messages.filter((message) => message.getType() === "human" && !isOurs(message)).length;
}

function isOurs(message: BaseMessage): boolean {
  return Object.keys(message.additional_kwargs ?? {}).some((key) => key.startsWith("longhaul_"));
}

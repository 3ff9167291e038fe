import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";

/**
 * The unit that is never split: an assistant message with all results of its calls (`step`), or any single other
 * message (`human`, `system`, `other`; an orphaned tool result is `other`).
 */
export interface MessageGroup {
  readonly kind: "step" | "human" | "system" | "other";
  readonly messages: readonly BaseMessage[];
  /** Agent step number in the thread, from 1; only of `step` groups. */
  readonly step?: number | undefined;
  /** Calls of the assistant message that have no result (crash, rejection, still running). */
  readonly dangling: readonly string[];
}

/**
 * Cuts a history into groups, in order. Results are assigned to the nearest assistant message before them that asked
 * for their call id, wherever they stand. Cost: linear.
 *
 * @param firstStep number of the first agent step in `messages`; above 1 when older groups were archived. Default 1.
 */
export function groupMessages(messages: readonly BaseMessage[], firstStep = 1): MessageGroup[] {
  const groups: {
    kind: MessageGroup["kind"];
    messages: BaseMessage[];
    step?: number;
    open: Map<string, string>;
  }[] = [];
  let step = firstStep;
  for (const message of messages) {
    const type = message.getType();
    if (type === "ai") {
      const calls = (message as AIMessage).tool_calls ?? [];
      groups.push({
        kind: "step",
        messages: [message],
        step: step++,
        open: new Map(calls.map((call, i) => [call.id ?? `#${i}`, call.name])),
      });
    } else if (type === "tool") {
      const id = (message as ToolMessage).tool_call_id;
      const owner = groups.findLast((group) => group.open.has(id));
      if (owner) {
        owner.messages.push(message);
        owner.open.delete(id);
      } else groups.push({ kind: "other", messages: [message], open: new Map() });
    } else {
      const kind = type === "human" ? "human" : type === "system" ? "system" : "other";
      groups.push({ kind, messages: [message], open: new Map() });
    }
  }
  return groups.map(({ open, ...group }) => ({ ...group, dangling: [...open.keys()] }));
}

/** Key of one action, unique in a thread: provider call ids alone repeat. */
export function elementKey(message: BaseMessage, callId: string | undefined): string {
  return `${message.id ?? "?"}:${callId ?? "?"}`;
}

/** Type test that works for both copies of the class in a mixed ESM/CJS app. */
export function isAssistant(message: BaseMessage): message is AIMessage {
  return AIMessage.isInstance(message);
}

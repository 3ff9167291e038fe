import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";

/** One call of an assistant message, by position: provider call ids repeat, even inside one message. */
export interface GroupCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Absent: crash, rejection, still running. */
  readonly result?: ToolMessage | undefined;
}

/**
 * The unit that is never split: an assistant message with all results of its calls (`step`), or any single other
 * message (`human`, `system`, `other`; an orphaned tool result is `other`).
 */
export interface MessageGroup {
  readonly kind: "step" | "human" | "system" | "other";
  readonly messages: readonly BaseMessage[];
  /** Agent step number in the thread, from 1; only of `step` groups. */
  readonly step?: number | undefined;
  /** Calls of the assistant message with their results, in the order of the calls. Empty for other kinds. */
  readonly calls: readonly GroupCall[];
  /** Ids of the calls that have no result; `#n` for the n-th call (from 0) when it has no id. */
  readonly dangling: readonly string[];
}

interface OpenGroup {
  readonly kind: MessageGroup["kind"];
  readonly messages: BaseMessage[];
  readonly step?: number;
  readonly calls: {
    id: string | undefined;
    name: string;
    args: Record<string, unknown>;
    result?: ToolMessage;
  }[];
}

/**
 * Cuts a history into groups, in order. A result belongs to the nearest assistant message before it that still waits for
 * its call id, wherever it stands; a second answer to the same call is an orphan. Cost: linear.
 *
 * @param firstStep number of the first agent step in `messages`; above 1 when older groups were archived. Default 1.
 */
export function groupMessages(messages: readonly BaseMessage[], firstStep = 1): MessageGroup[] {
  const groups: OpenGroup[] = [];
  const waiting = new Map<string, OpenGroup["calls"]>();
  let step = firstStep;
  for (const message of messages) {
    const type = message.getType();
    if (type === "ai") {
      const calls: OpenGroup["calls"] = ((message as AIMessage).tool_calls ?? []).map((call) => ({
        id: call.id,
        name: call.name,
        args: call.args,
      }));
      groups.push({ kind: "step", messages: [message], step: step++, calls });
      // Pushed backwards, so that equal ids inside one message are answered in the order of the calls.
      for (const call of calls.toReversed()) {
        if (call.id === undefined) continue;
        const stack = waiting.get(call.id);
        if (stack) stack.push(call);
        else waiting.set(call.id, [call]);
      }
    } else if (type === "tool") {
      const call = waiting.get((message as ToolMessage).tool_call_id)?.pop();
      if (call) call.result = message as ToolMessage;
      groups.push({ kind: "other", messages: [message], calls: call ? [call] : [] });
    } else {
      const kind = type === "human" ? "human" : type === "system" ? "system" : "other";
      groups.push({ kind, messages: [message], calls: [] });
    }
  }
  return groups.filter(isNotAnswer).map(close);
}

function isNotAnswer(group: OpenGroup): boolean {
  return group.kind !== "other" || group.calls.length === 0;
}

function close(group: OpenGroup): MessageGroup {
  const results = group.calls.flatMap((call) => (call.result ? [call.result] : []));
  return {
    kind: group.kind,
    messages: [...group.messages, ...results],
    ...(group.step === undefined ? {} : { step: group.step }),
    calls: group.calls,
    dangling: group.calls.flatMap((call, i) => (call.result ? [] : [call.id ?? `#${i}`])),
  };
}

/** Key of one action, unique in a thread: provider call ids alone repeat. */
export function elementKey(message: BaseMessage, callId: string | undefined): string {
  return `${message.id ?? "?"}:${callId ?? "?"}`;
}

/** Type test that works for both copies of the class in a mixed ESM/CJS app. */
export function isAssistant(message: BaseMessage): message is AIMessage {
  return AIMessage.isInstance(message);
}

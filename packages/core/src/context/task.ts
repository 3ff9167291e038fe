import type { BaseMessage } from "@langchain/core/messages";
import { messageText } from "../messages/message-text.ts";
import type { ResolvedContextOptions } from "./context-options.ts";
import type { TaskState } from "./task-state.ts";

/** A pasted document may hold hundreds of "must not"s; that many of one turn, and that many in all, are pinned. */
const MOST_OF_A_TURN = 20;
const MOST = 100;
/** Longer ones are no sentences. */
const LONGEST_SENTENCE = 600;

/**
 * The task as of these messages: the first human message is the goal, for good; later human turns are directions; sentences
 * that forbid are constraints. The same object when nothing is new; undefined while no human has said anything.
 */
export function updateTask(
  task: TaskState | undefined,
  messages: readonly BaseMessage[],
  options: Pick<ResolvedContextOptions, "constraints" | "prohibition">,
): TaskState | undefined {
  const seen = new Set(task ? [task.goal.messageId, ...task.directions.map((turn) => turn.messageId)] : []);
  const turns = humanTurns(messages).filter((turn) => !seen.has(turn.messageId));
  const [first, ...later] = task ? [undefined, ...turns] : turns;
  const goal = task?.goal ?? first;
  if (!goal) return undefined;
  const known = task?.constraints ?? [];
  const found = turns.flatMap((turn) => prohibitions(turn.text, options.prohibition));
  const constraints = [...new Set([...known, ...options.constraints, ...found])].slice(0, MOST);
  if (task && turns.length === 0 && constraints.length === known.length) return task;
  return {
    v: 1,
    goal,
    constraints,
    directions: [...(task?.directions ?? []), ...later.filter((turn) => turn !== undefined)],
    humanTurns: (task?.humanTurns ?? 0) + turns.length,
  };
}

/** Human messages of a history in order. Without ids (a plain list of messages) they are known by position. */
function humanTurns(messages: readonly BaseMessage[]): { messageId: string; text: string }[] {
  return messages
    .filter((message) => message.getType() === "human")
    .map((message, i) => ({ messageId: turnId(message, i), text: messageText(message) }));
}

/** Identity of the n-th human message (from 0). */
export function turnId(message: BaseMessage, position: number): string {
  return message.id ?? `human-${position + 1}`;
}

/** Sentences of a human turn that forbid something, word for word. */
export function prohibitions(text: string, pattern: RegExp | null): string[] {
  if (!pattern) return [];
  // Without the sticky and global flags `test` keeps no position between calls.
  const test = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
  return text
    .split(/(?<=[.!?…])\s+|(?<=[。！？；])|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "" && sentence.length <= LONGEST_SENTENCE && test.test(sentence))
    .slice(0, MOST_OF_A_TURN);
}

import type { BaseMessage } from "@langchain/core/messages";
import { groupMessages, type MessageGroup } from "../messages/groups.ts";
import type { MemoryState } from "./memory-state.ts";
import { turnId } from "./task.ts";

/** A history cut into what the layers are made of. */
export interface HistoryLayers {
  /** System messages in front. */
  readonly head: readonly BaseMessage[];
  /** Groups up to the cut-off: out of the view. */
  readonly past: readonly MessageGroup[];
  /** Groups since. */
  readonly working: readonly MessageGroup[];
  /** Number of the agent step that the next answer is. */
  readonly nextStep: number;
  /** Position of human messages by object, as `turnId` counts them. */
  readonly turnIds: ReadonlyMap<BaseMessage, string>;
}

/** A cut-off that is not in the history (it was removed) leaves nothing behind it: all groups are working ones. */
export function historyLayers(
  messages: readonly BaseMessage[],
  memory: Pick<MemoryState, "cutoff">,
): HistoryLayers {
  const leading = messages.findIndex((message) => message.getType() !== "system");
  const start = leading === -1 ? messages.length : leading;
  const groups = groupMessages(messages.slice(start));
  const cut =
    memory.cutoff === undefined
      ? 0
      : groups.findLastIndex((group) => group.kind === "step" && group.messages[0]?.id === memory.cutoff) + 1;
  const humans = messages.filter((message) => message.getType() === "human");
  return {
    head: messages.slice(0, start),
    past: groups.slice(0, cut),
    working: groups.slice(cut),
    nextStep: (groups.findLast((group) => group.kind === "step")?.step ?? 0) + 1,
    turnIds: new Map(humans.map((message, i) => [message, turnId(message, i)])),
  };
}

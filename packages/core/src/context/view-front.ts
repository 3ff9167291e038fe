import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { shortenText } from "../artifacts/offload.ts";
import { elementKey, type MessageGroup } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import { readProgressMark } from "../progress/progress-mark.ts";
import type { ContextParts } from "./context-state.ts";
import { type CarriedResult, type MemoryBlock, memoryBlock } from "./memory-block.ts";
import { taskBlock } from "./task-block.ts";
import { estimateTokens, measureMessage, measureMessages, measureTools } from "./token-measure.ts";

const NOTHING_LEFT: MemoryBlock["left"] = { identifiers: 0, artifacts: 0, summaries: 0 };

/** What stands in front of the working layer. */
export interface ViewFront {
  readonly goal: BaseMessage | undefined;
  readonly block: HumanMessage | undefined;
  readonly memoryLeft: MemoryBlock["left"];
  /** Uncalibrated. */
  readonly tokens: { readonly system: number; readonly task: number; readonly memory: number };
}

export function viewFront(parts: ContextParts, references: ReadonlyMap<string, string>): ViewFront {
  const { task, memory, layers, options, request, system } = parts;
  const visible = new Set(
    layers.working.flatMap((group) =>
      group.kind === "human" ? [layers.turnIds.get(group.messages[0] as BaseMessage) ?? ""] : [],
    ),
  );
  const goal = task && !visible.has(task.goal.messageId) ? goalMessage(parts, task.goal) : undefined;
  const taskText =
    task &&
    taskBlock(task, {
      constraints: options.constraints,
      shownConstraints: memory.shown?.constraints ?? 0,
      visible,
      limit: options.directionsLimit,
      recallTool: options.recallTool,
    });
  const cap = (memory.shown?.limit ?? options.memoryLimit) / (parts.tight ? 2 : 1);
  const block = memoryBlock(memory, carriedResults(parts, references), cap, options.recallTool);
  const texts = [taskText, block?.text].filter((text) => text !== undefined);
  const told = system ? measureMessage(system) : measureMessages(layers.head);
  return {
    goal,
    block:
      texts.length === 0
        ? undefined
        : new HumanMessage({ content: texts.map((text) => ({ type: "text", text })) }),
    memoryLeft: block?.left ?? NOTHING_LEFT,
    tokens: {
      system: told + measureTools(request.tools),
      task: (goal ? measureMessage(goal) : 0) + (taskText ? estimateTokens(taskText) : 0),
      memory: block ? estimateTokens(block.text) : 0,
    },
  };
}

/** The goal in the user's own message, pictures included, while the history has it; else its text. */
function goalMessage(parts: ContextParts, goal: { messageId: string; text: string }): BaseMessage {
  for (const [message, id] of parts.layers.turnIds) if (id === goal.messageId) return message;
  return new HumanMessage({ content: goal.text, id: goal.messageId });
}

function carriedResults(
  { memory, layers, options }: ContextParts,
  references: ReadonlyMap<string, string>,
): CarriedResult[] {
  const group = carriedGroup(memory.carriedFrom, layers.past);
  return (group?.calls ?? []).flatMap((call) => {
    if (!call.result || readProgressMark(call.result) !== undefined) return [];
    const ref = references.get(elementKey(group?.messages[0] as BaseMessage, call.id));
    const text = messageText(call.result);
    return [
      { tool: call.name, text: ref ? shortenText(text, Math.ceil(options.resultLimit / 2), ref) : text },
    ];
  });
}

/** The step that asked for the reset, while its fresh results are carried. */
export function carriedGroup(
  id: string | undefined,
  past: readonly MessageGroup[],
): MessageGroup | undefined {
  return id === undefined
    ? undefined
    : past.findLast((group) => group.kind === "step" && group.messages[0]?.id === id);
}

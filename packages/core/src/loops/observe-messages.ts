import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { groupMessages, isAssistant, type MessageGroup } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import { readProgressMark } from "../progress/progress-mark.ts";
import { isBlocked } from "./blocked-call.ts";
import type { DetectedLoop } from "./detect-loops.ts";
import { type LoopOptions, type ResolvedLoopOptions, resolveLoopOptions } from "./loop-options.ts";
import { type LoopState, loopState } from "./loop-state.ts";
import type { Observation } from "./observation.ts";
import { judgeStep, recordAction } from "./observe-action.ts";
import type { ActionInput } from "./observed-action.ts";
import { isChant, similarity, sketchText } from "./text-sketch.ts";

/** Steps whose texts are compared. */
const SIMILAR_STEPS = 3;

/**
 * Observes the finished steps of a history that were not observed yet. Call it before each model call, with the whole
 * history: it goes on behind the last assistant message that it saw, so calling it twice changes nothing, and only the
 * newest step is judged (what came before it unseen was never hinted at). A new human message begins a new run and
 * clears the state. Pure. Cost: linear in what is new, plus a search from the end for where that begins.
 */
export function observeMessages(
  state: LoopState,
  messages: readonly BaseMessage[],
  options?: LoopOptions,
): Observation {
  const resolved = resolveLoopOptions(options);
  const human = messages.findLastIndex((message) => message.getType() === "human");
  const turn = human < 0 ? undefined : idAt(messages, human);
  const same = turn === state.turn || (turn === undefined && state.turn !== undefined);
  let current: LoopState = same ? state : { ...loopState(), ...(turn !== undefined && { turn }) };

  const seen = current.seen === undefined ? -1 : lastIndexOfId(messages, current.seen);
  const from = Math.max(human, seen) + 1;
  const groups = groupMessages(messages.slice(from)).filter((group) => group.kind === "step");
  // the last one seen was archived with all before it, or the history is another one: the newest step is new for sure
  const fresh = current.seen !== undefined && seen < 0 && same ? groups.slice(-1) : groups;
  const [last] = fresh.slice(-1);
  if (!last) return { state: current, signal: "none" };

  for (const group of fresh) current = recordGroup(current, group, messages, resolved);
  const input = actionsOf(last, "").at(-1);
  return judgeStep(current, resolved, textLoops(current, last, resolved), input);
}

function recordGroup(
  state: LoopState,
  group: MessageGroup,
  messages: readonly BaseMessage[],
  options: ResolvedLoopOptions,
): LoopState {
  const assistant = group.messages[0]!;
  const id = assistant.id ?? idAt(messages, messages.indexOf(assistant));
  let next = state;
  for (const action of actionsOf(group, id)) next = recordAction(next, action, options);
  const sketch = sketchText(messageText(assistant));
  return {
    ...next,
    seen: id,
    texts: sketch === "" ? [] : [...next.texts, sketch].slice(-SIMILAR_STEPS),
  };
}

/** The calls of a group that have a result. Results of equal call ids are taken in their order. */
function actionsOf(group: MessageGroup, id: string): ActionInput[] {
  const [assistant, ...rest] = group.messages;
  const results = rest.filter((message): message is ToolMessage => message.getType() === "tool");
  return ((assistant as AIMessage).tool_calls ?? []).flatMap((call): ActionInput[] => {
    const at = results.findIndex((result) => result.tool_call_id === call.id);
    if (at < 0) return [];
    const [result] = results.splice(at, 1);
    const moved = readProgressMark(result!);
    return [
      {
        tool: call.name,
        args: call.args,
        result: resultOf(result!),
        group: id,
        ...(result!.status === "error" && { isError: true }),
        ...(moved !== undefined && { moved }),
        ...(isBlocked(result!) && { blocked: true }),
      },
    ];
  });
}

/** Text where it is all text; with an image or a file in it the whole content, two screenshots are not the same. */
function resultOf(message: ToolMessage): unknown {
  const { content } = message;
  if (typeof content === "string") return content;
  return content.every((block) => block.type === "text") ? messageText(message) : content;
}

function textLoops(state: LoopState, group: MessageGroup, options: ResolvedLoopOptions): DetectedLoop[] {
  const found: DetectedLoop[] = [];
  const { texts } = state;
  const hintOnly = { hint: 1, block: Number.POSITIVE_INFINITY, stop: Number.POSITIVE_INFINITY };
  const latest = texts.at(-1);
  const alike = (text: string) => latest !== undefined && similarity(text, latest) >= options.similarity;
  if (texts.length === SIMILAR_STEPS && texts.slice(0, -1).every(alike)) {
    found.push({
      id: "similar",
      kind: "similar",
      reason: "loop",
      count: texts.length,
      ladder: hintOnly,
      round: [],
    });
  }
  if (isChant(messageText(group.messages[0]!))) {
    found.push({ id: "chant", kind: "chant", reason: "loop", count: 1, ladder: hintOnly, round: [] });
  }
  return found;
}

function idAt(messages: readonly BaseMessage[], index: number): string {
  return messages[index]?.id ?? `#${index}`;
}

function lastIndexOfId(messages: readonly BaseMessage[], id: string): number {
  for (let i = messages.length - 1; i >= 0; i--) {
    if (isAssistant(messages[i]!) && idAt(messages, i) === id) return i;
  }
  return -1;
}

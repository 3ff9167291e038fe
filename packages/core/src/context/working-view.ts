import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { shortenText } from "../artifacts/offload.ts";
import { contentBlocks } from "../messages/content-blocks.ts";
import { copyMessage } from "../messages/copy-message.ts";
import { elementKey, type GroupCall, type MessageGroup } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import type { MemoryState } from "./memory-state.ts";
import { measureMessages } from "./token-measure.ts";

/** A tool result whose text the view does not show in full, and where it is. */
export interface LeftResult {
  /** Element key of the call. */
  readonly key: string;
  readonly tool: string;
  readonly chars: number;
  readonly why: "large" | "repeated" | "hard-limit";
  /** Where the whole text is; absent when it could not be stored. */
  readonly ref?: string | undefined;
}

/** A group of the working layer as the request shows it. */
interface ViewGroup {
  readonly group: MessageGroup;
  /** Uncalibrated. */
  readonly tokens: number;
}

export interface WorkingView {
  readonly groups: readonly ViewGroup[];
  readonly tokens: number;
  readonly left: readonly LeftResult[];
}

/** Shorter results are repeated: a reference would hardly be shorter. */
const SHORTEST_REPEAT = 400;
/** What the hard limit leaves of a result, in characters. */
const REDUCED_CHARS = 600;

/** References by element key. */
export function referencesOf(memory: Pick<MemoryState, "artifacts">): ReadonlyMap<string, string> {
  const references = new Map<string, string>();
  for (const [ref, { of, also = [] }] of Object.entries(memory.artifacts)) {
    if (of !== undefined) references.set(of, ref);
    for (const key of also) references.set(key, ref);
  }
  return references;
}

/**
 * The working groups with large stored results as head, tail and reference, and a result that equals an earlier one as a line that
 * says so. A group's form depends on what stands before it only, so later steps do not change it.
 */
export function workingView(
  groups: readonly MessageGroup[],
  references: ReadonlyMap<string, string>,
  resultLimit: number,
): WorkingView {
  const left: LeftResult[] = [];
  const shown = new Map<string, string>();
  const view = groups.map((group) =>
    withResults(group, (result, call, key) => {
      const text = messageText(result);
      const place = shown.get(text);
      const ref = references.get(key);
      if (text.length >= SHORTEST_REPEAT && typeof result.content === "string") {
        if (place !== undefined) {
          left.push({ key, tool: call.name, chars: text.length, why: "repeated", ref });
          return withText(result, `[The same result as ${place}, shown there.]`);
        }
        shown.set(text, `that of the call of ${call.name} in step ${group.step} above`);
      }
      if (text.length <= resultLimit || ref === undefined) return result;
      left.push({ key, tool: call.name, chars: text.length, why: "large", ref });
      return withText(result, shortenText(text, Math.ceil(resultLimit / 2), ref));
    }),
  );
  return summed(view.map(measured), left);
}

/**
 * Cuts results, oldest first, until `excess` uncalibrated tokens are gone: the last resort above the hard limit. Messages of the
 * assistant and of the user stay.
 */
export function reduceResults(
  view: WorkingView,
  excess: number,
  references: ReadonlyMap<string, string>,
): WorkingView {
  const left: LeftResult[] = [...view.left];
  let over = excess;
  const groups = view.groups.map(({ group, tokens }) => {
    if (over <= 0) return { group, tokens };
    const reduced = measured(
      withResults(group, (result, call, key) => {
        const text = messageText(result);
        if (text.length <= REDUCED_CHARS) return result;
        const ref = references.get(key);
        left.push({ key, tool: call.name, chars: text.length, why: "hard-limit", ref });
        return withText(result, shortenText(text, REDUCED_CHARS, ref));
      }),
    );
    over -= tokens - reduced.tokens;
    return reduced;
  });
  return summed(groups, left);
}

function summed(groups: readonly ViewGroup[], left: readonly LeftResult[]): WorkingView {
  return { groups, left, tokens: groups.reduce((sum, group) => sum + group.tokens, 0) };
}

function measured(group: MessageGroup): ViewGroup {
  return { group, tokens: measureMessages(group.messages) };
}

function withResults(
  group: MessageGroup,
  change: (result: ToolMessage, call: GroupCall, key: string) => ToolMessage,
): MessageGroup {
  if (group.kind !== "step") return group;
  const assistant = group.messages[0] as AIMessage;
  const calls = group.calls.map((call) =>
    call.result ? { ...call, result: change(call.result, call, elementKey(assistant, call.id)) } : call,
  );
  if (calls.every((call, i) => call.result === group.calls[i]?.result)) return group;
  const results: BaseMessage[] = calls.flatMap((call) => (call.result ? [call.result] : []));
  return { ...group, calls, messages: [assistant, ...results] };
}

/** Pictures and files of a result stay; its text is replaced. */
function withText(result: ToolMessage, text: string): ToolMessage {
  if (typeof result.content === "string") return copyMessage(result, { content: text });
  const others = contentBlocks(result.content).filter(
    (block) => typeof block !== "string" && block.type !== "text" && block.type !== "output_text",
  );
  return copyMessage(result, { content: [{ type: "text", text }, ...others] });
}

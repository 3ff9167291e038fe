import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { messageText } from "@longhaul/core";

/**
 * How many of the values that tool calls were given are still at hand. A value counts when it stood verbatim in an earlier
 * message of the thread (system prompt apart): what the agent has read or said and needs again.
 */
export interface Availability {
  readonly values: number;
  /** In the request that the call answers. */
  readonly visible: number;
  /** Of the visible ones, those that stand in Longhaul's record alone: the messages that held them have left the view. */
  readonly byRecord: number;
  /** Not visible, but in the answer of one `recall` call that the request names: a reference, a step or a range of steps. */
  readonly recallable: number;
  readonly lost: number;
}

export const NO_VALUES: Availability = { values: 0, visible: 0, byRecord: 0, recallable: 0, lost: 0 };

export function addAvailability(a: Availability, b: Availability): Availability {
  return {
    values: a.values + b.values,
    visible: a.visible + b.visible,
    byRecord: a.byRecord + b.byRecord,
    recallable: a.recallable + b.recallable,
    lost: a.lost + b.lost,
  };
}

/** One model call: what it was sent, and what it answered. */
export interface AnsweredRequest {
  readonly request: readonly BaseMessage[];
  readonly answer: AIMessage;
}

/**
 * @param earlier text of the thread's messages before the answer, as `readableText` gives it
 * @param recalled texts that the recall calls named in a text answer with
 */
export async function argumentAvailability(
  { request, answer }: AnsweredRequest,
  earlier: string,
  recalled: (requestText: string) => Promise<readonly string[]>,
): Promise<Availability> {
  const needed = (answer.tool_calls ?? [])
    .flatMap((call) => argumentValues(call.args))
    .filter((value) => containsValue(earlier, value));
  if (needed.length === 0) return NO_VALUES;
  const shown = readableText(request);
  const raw = shown.replace(RECORD, "");
  let result = NO_VALUES;
  for (const value of needed) {
    const visible = containsValue(shown, value);
    const byRecord = visible && !containsValue(raw, value);
    const recallable = !visible && (await recalled(shown)).some((text) => containsValue(text, value));
    result = addAvailability(result, {
      values: 1,
      visible: Number(visible),
      byRecord: Number(byRecord),
      recallable: Number(recallable),
      lost: Number(!visible && !recallable),
    });
  }
  return result;
}

/** Blocks of the view that are Longhaul's own account of the past. */
export const RECORD = /<longhaul-(memory|task)\b[\s\S]*?<\/longhaul-\1>/g;

/** Shorter values ("2", "NY") stand everywhere and say nothing. */
const SHORTEST_VALUE = 3;

/** Leaf strings and numbers of a call's arguments, each once. */
export function argumentValues(args: unknown): string[] {
  const values = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === "string" || typeof value === "number") values.add(String(value));
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(args);
  return [...values].filter((value) => value.length >= SHORTEST_VALUE);
}

/** What a model reads in messages: their texts, and the values of their calls. */
export function readableText(messages: readonly BaseMessage[]): string {
  return messages
    .flatMap((message) => [
      messageText(message),
      ...((message as AIMessage).tool_calls ?? []).flatMap((call) => [
        call.name,
        ...argumentValues(call.args),
      ]),
    ])
    .join("\n");
}

/** Verbatim and whole: 412 does not stand in 4120, nor "one" in "phone". A quote inside JSON may be escaped. */
export function containsValue(text: string, value: string): boolean {
  const escaped = JSON.stringify(value).slice(1, -1);
  return standsIn(text, value) || (escaped !== value && standsIn(text, escaped));
}

function standsIn(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const end = at + value.length;
    if (!continues(text[at - 1], value[0]) && !continues(value[value.length - 1], text[end])) return true;
  }
  return false;
}

/** Whether two neighbours belong to one word or one number. */
function continues(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  return (/[A-Za-z]/.test(left) && /[A-Za-z]/.test(right)) || (/\d/.test(left) && /\d/.test(right));
}

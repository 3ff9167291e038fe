import type { AIMessage } from "@langchain/core/messages";
import type { MessageGroup } from "./groups.ts";
import { isSigned } from "./signed-blocks.ts";

/** Longest call id that all large providers take. */
const LONGEST = 40;

/**
 * A unique id for every call of a request, by group and position. The first bearer keeps its id, a repeat or a missing one
 * gets a name made of its agent step; calls of signed messages always keep theirs.
 */
export function uniqueCallIds(groups: readonly MessageGroup[]): ReadonlyMap<MessageGroup, readonly string[]> {
  const ids = new Map<MessageGroup, readonly string[]>();
  const taken = new Set<string>();
  for (const group of groups) {
    if (group.kind !== "step" || !isSigned(group.messages[0] as AIMessage)) continue;
    const own = group.calls.map((call) => call.id ?? "");
    for (const id of own) taken.add(id);
    ids.set(group, own);
  }
  for (const group of groups) {
    if (group.kind !== "step" || ids.has(group)) continue;
    ids.set(
      group,
      group.calls.map((call) => {
        const id = unusedId(call.id, group.step ?? 0, taken);
        taken.add(id);
        return id;
      }),
    );
  }
  return ids;
}

function unusedId(id: string | undefined, step: number, taken: ReadonlySet<string>): string {
  const own = id?.toWellFormed();
  if (own && !taken.has(own)) return own;
  const base = own && own.length <= LONGEST - 12 ? own : "call";
  for (let n = 1; ; n++) {
    const candidate = `${base}_s${step}${n === 1 ? "" : `_${n}`}`;
    if (!taken.has(candidate)) return candidate;
  }
}

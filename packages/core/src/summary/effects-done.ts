import type { MemoryState } from "../context/memory-state.ts";
import type { MessageGroup } from "../messages/groups.ts";
import { readGroup } from "./group-facts.ts";
import { cutLine } from "./text-size.ts";

/** One line for each successful call of a tool that changes the world: what must not be done again. */
export function effectsDone(
  groups: readonly MessageGroup[],
  isEffect: (toolName: string) => boolean,
): MemoryState["effectsDone"] {
  return groups.flatMap((group) => {
    const facts = readGroup(group);
    return facts.calls
      .filter((call) => call.result !== undefined && !call.failed && isEffect(call.name))
      .map((call) => ({
        step: facts.step ?? 0,
        text: `${call.name}(${cutLine(call.argsText, 120)}) → ${cutLine(call.result ?? "", 80) || "done"}`,
      }));
  });
}

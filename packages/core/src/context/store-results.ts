import { offloadText } from "../artifacts/offload.ts";
import type { Emit } from "../events/event.ts";
import { elementKey, type MessageGroup } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import type { ArtifactStore } from "../storage/artifact-store.ts";
import type { ResolvedContextOptions } from "./context-options.ts";
import type { MemoryState } from "./memory-state.ts";
import { referencesOf } from "./working-view.ts";

/** Failures that are remembered, so that each is tried and reported once. */
const MOST_UNSTORED = 100;

export interface StoreTarget {
  readonly thread: string;
  readonly artifacts: ArtifactStore;
  readonly emit: Emit;
}

/**
 * Stores the large results of these groups that are not stored yet. A result that the store loses gets no reference: it is shown whole
 * while it fits. The same memory when there is nothing to do. Cost: one write and one read for each new large result.
 */
export async function storeLargeResults(
  memory: MemoryState,
  groups: readonly MessageGroup[],
  options: Pick<ResolvedContextOptions, "resultLimit" | "recallTool">,
  target: StoreTarget,
): Promise<MemoryState> {
  const references = referencesOf(memory);
  const unstored = new Set(memory.unstored);
  let result = memory;
  for (const group of groups) {
    for (const call of group.calls) {
      // What recall gives back is stored already.
      if (!call.result || call.name === options.recallTool) continue;
      const text = messageText(call.result);
      if (text.length <= options.resultLimit) continue;
      const of = elementKey(group.messages[0] as MessageGroup["messages"][number], call.id);
      if (references.has(of) || unstored.has(of)) continue;
      const label = `result of ${call.name}`;
      const stored = await offloadText(target.thread, text, { kind: "tool-result", label }, target.artifacts);
      if ("lost" in stored) {
        target.emit({ type: "context.store-failed", label, chars: text.length, reason: stored.reason });
        result = { ...result, unstored: [...result.unstored, of].slice(-MOST_UNSTORED) };
        continue;
      }
      target.emit({ type: "context.stored", ref: stored.ref, label, chars: text.length });
      const known = result.artifacts[stored.ref];
      const entry = known
        ? { ...known, also: [...(known.also ?? []), of] }
        : { label, chars: text.length, step: group.step ?? 0, of };
      result = { ...result, artifacts: { ...result.artifacts, [stored.ref]: entry } };
    }
  }
  return result;
}

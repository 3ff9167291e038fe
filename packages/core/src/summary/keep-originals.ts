import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { binaryBlocks } from "../artifacts/binary-blocks.ts";
import { offloadText } from "../artifacts/offload.ts";
import type { MemoryState } from "../context/memory-state.ts";
import type { Emit } from "../events/event.ts";
import { elementKey, type MessageGroup } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import type { ArtifactMeta, ArtifactStore } from "../storage/artifact-store.ts";
import { cutLine } from "./text-size.ts";
import { refsByElement } from "./transcript.ts";

/** A human turn longer than this is material that was pasted. */
const PASTED_CHARS = 2_000;

type Artifacts = MemoryState["artifacts"];

/**
 * Stores what a summary cannot hold and nobody can fetch again: pasted material of the user and pictures. What is stored
 * already is not stored again. What the store does not take is reported and not referred to.
 */
export async function keepOriginals(
  thread: string,
  groups: readonly MessageGroup[],
  known: Artifacts,
  store: ArtifactStore,
  emit: Emit,
): Promise<Artifacts> {
  const refs = refsByElement(known);
  const added: Record<string, Artifacts[string]> = {};
  const keep = async (content: string, meta: ArtifactMeta, step: number, of: string): Promise<void> => {
    const stored = await offloadText(thread, content, meta, store);
    if ("lost" in stored) {
      emit({
        type: "artifact.lost",
        kind: meta.kind,
        label: meta.label,
        chars: content.length,
        reason: stored.reason,
      });
    } else added[stored.ref] = { label: meta.label, chars: content.length, step, of };
  };
  let step = groups.find((group) => group.step !== undefined)?.step ?? 0;
  for (const group of groups) {
    step = group.step ?? step;
    for (const message of group.messages) {
      const key = keyOf(message, group);
      const at = refs.get(key) ?? [];
      const text = group.kind === "human" ? messageText(message) : "";
      if (text.length > PASTED_CHARS && at.length === 0) {
        const label = `pasted by the user: ${cutLine(text, 80)}`;
        await keep(text, { kind: "human", label }, step, key);
      }
      for (const block of binaryBlocks(message)) {
        if (block.dataUrl === undefined || at.some((ref) => known[ref]?.label.startsWith(block.kind)))
          continue;
        const label = `${block.kind} ${block.mediaType}, ${message.getType() === "human" ? "from the user" : "in a result"}, step ${step}`;
        await keep(block.dataUrl, { kind: block.kind, label, mediaType: block.mediaType }, step, key);
      }
    }
  }
  return added;
}

/** A result belongs to its call; any other message stands for itself. */
function keyOf(message: BaseMessage, group: MessageGroup): string {
  const assistant = group.messages[0] as AIMessage;
  return message.getType() === "tool" && group.kind === "step"
    ? elementKey(assistant, (message as ToolMessage).tool_call_id)
    : elementKey(message, undefined);
}

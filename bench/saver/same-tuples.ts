import { isDeepStrictEqual } from "node:util";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";

export interface Address {
  readonly namespace: string;
  readonly id: string;
}

/**
 * Reads every checkpoint of `ids` from both savers and compares values, versions, metadata, parents and pending writes, in the JSON that LangChain
 * gives for messages. Official savers hand pending writes back in the order of their rows, so these are compared as sets.
 *
 * @returns what differs, at most ten lines
 */
export async function differences(
  peer: BaseCheckpointSaver,
  ours: BaseCheckpointSaver,
  addresses: readonly Address[],
  threadId: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const { namespace, id } of addresses) {
    const config = { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id } };
    const [a, b] = [await peer.getTuple(config), await ours.getTuple(config)];
    if (!a || !b) found.push(`${id}: ${a ? "ours" : "the peer's"} is missing`);
    else
      for (const part of PARTS) if (!isSame(part.of(a), part.of(b))) found.push(`${id}: ${part.name} differ`);
    if (found.length >= 10) break;
  }
  return found;
}

const PARTS: readonly { readonly name: string; readonly of: (tuple: CheckpointTuple) => unknown }[] = [
  {
    name: "values",
    // a channel without a version was never written: what stands there is its default, which the graph makes again
    of: ({ checkpoint: { channel_values, channel_versions } }) =>
      Object.fromEntries(
        Object.entries(channel_values).filter(([channel]) => Object.hasOwn(channel_versions, channel)),
      ),
  },
  { name: "versions", of: ({ checkpoint }) => [checkpoint.channel_versions, checkpoint.versions_seen] },
  { name: "metadata", of: ({ metadata }) => metadata },
  { name: "parents", of: ({ parentConfig }) => parentConfig?.configurable?.checkpoint_id ?? null },
  {
    name: "pending writes",
    of: ({ pendingWrites = [] }) => pendingWrites.map((write) => JSON.stringify(write)).sort(),
  },
];

/** Texts are compared first: nearly always they are equal, also in the order of keys. */
function isSame(a: unknown, b: unknown): boolean {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left === right || isDeepStrictEqual(JSON.parse(left ?? "null"), JSON.parse(right ?? "null"));
}

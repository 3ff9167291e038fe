import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointPendingWrite, DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import type { HeadRow, StorageDriver } from "../driver/driver.ts";
import { DamagedRecordError } from "../errors.ts";
import { type Address, addressOf } from "./config.ts";
import { placeOf, type Reader } from "./reader.ts";
import { settled } from "./settled.ts";

/**
 * What each channel's ancestors contributed: the writes from the nearest ancestor with a stored value on, oldest first, and that
 * value. Reads heads and the writes of these channels only, never whole checkpoints.
 *
 * @throws DamagedRecordError also when an ancestor is missing: without its writes the value would have a hole
 */
export async function deltaHistory(
  driver: StorageDriver,
  reader: Reader,
  { config, channels }: { readonly config: RunnableConfig; readonly channels: readonly string[] },
): Promise<Record<string, DeltaChannelHistory>> {
  const address = addressOf(config);
  return settled(driver, address.threadId, () => walk(driver, reader, address, channels));
}

async function walk(
  driver: StorageDriver,
  reader: Reader,
  { threadId, namespace, checkpointId }: Address,
  channels: readonly string[],
): Promise<Record<string, DeltaChannelHistory>> {
  const found = new Map(
    channels.map((channel) => [channel, { steps: [] as CheckpointPendingWrite[][] } as Found]),
  );
  const open = new Set(channels);
  let row = open.size > 0 ? await driver.head(threadId, namespace, checkpointId) : undefined;
  while (row?.parentId !== undefined && open.size > 0) {
    const parent = await driver.head(threadId, namespace, row.parentId);
    if (parent) await visit(parent);
    else if (!isBeginning(row))
      throw new DamagedRecordError({
        reason: `its ancestor ${row.parentId} is missing`,
        place: placeOf(row),
      });
    row = parent;
  }
  return Object.fromEntries(
    [...found].map(([channel, { steps, seed }]) => [channel, { writes: steps.reverse().flat(), ...seed }]),
  );

  /** A run that was begun at a checkpoint that never was, or no longer is, has nothing before it. */
  function isBeginning(oldest: HeadRow): boolean {
    return (reader.head(oldest).meta.step ?? 0) < 0;
  }

  async function visit(ancestor: HeadRow): Promise<void> {
    const head = reader.head(ancestor);
    // of an older state version: only the whole of it can be migrated
    const older = reader.isOlder(head) ? await reader.tuple(ancestor, head) : undefined;
    const writes = older?.pendingWrites ?? (await reader.writes(ancestor, [...open]));
    for (const channel of open) {
      const own = writes.filter((write) => write[1] === channel);
      if (own.length > 0) found.get(channel)?.steps.push(own);
    }
    const stored = head.values.filter((channel) => open.has(channel));
    const values =
      older?.checkpoint.channel_values ??
      (stored.length > 0 ? await reader.values(ancestor, head, stored) : {});
    for (const channel of stored) {
      if (values[channel] === undefined) continue;
      open.delete(channel);
      const entry = found.get(channel);
      if (entry) entry.seed = { seed: values[channel] };
    }
  }
}

interface Found {
  /** Writes of one checkpoint after another, newest first. */
  readonly steps: CheckpointPendingWrite[][];
  seed?: { readonly seed: unknown };
}

import {
  type Checkpoint,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  maxChannelVersion,
  TASKS,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import type { HeadAddress, HeadRow, StorageDriver, WriteRow } from "../driver/driver.ts";
import { place as placeIn } from "../encoding/place.ts";
import { DamagedRecordError, type RecordPlace } from "../errors.ts";
import { type Codec, within } from "./codec.ts";
import { configOf } from "./config.ts";
import type { Head } from "./head.ts";

/** Puts tuples together from rows. */
export class Reader {
  readonly #driver: StorageDriver;
  readonly #codec: Codec;
  readonly #nextVersion: () => string;

  constructor(driver: StorageDriver, codec: Codec, nextVersion: () => string) {
    this.#driver = driver;
    this.#codec = codec;
    this.#nextVersion = nextVersion;
  }

  head(row: HeadRow): Head {
    return within(placeOf(row), () =>
      this.#codec.heads.read(this.#codec.unseal(row.data, placeIn.head(row, row.parentId))),
    );
  }

  /**
   * As `tuple`, beside a prune or a deletion: what is missing because the checkpoint went is no damage. Undefined when it went.
   */
  async current(row: HeadRow, head?: Head): Promise<CheckpointTuple | undefined> {
    const { threadId, namespace, checkpointId } = row;
    try {
      return await this.tuple(row, head);
    } catch (error) {
      if (!DamagedRecordError.isInstance(error)) throw error;
    }
    for (;;) {
      const era = (await this.#driver.thread(threadId))?.era;
      const again = await this.#driver.head(threadId, namespace, checkpointId);
      if (!again) return undefined;
      try {
        return await this.tuple(again);
      } catch (error) {
        if (!DamagedRecordError.isInstance(error)) throw error;
        if ((await this.#driver.thread(threadId))?.era === era) throw error;
      }
    }
  }

  async tuple(row: HeadRow, head: Head = this.head(row)): Promise<CheckpointTuple> {
    const values = await this.values(row, head, head.values);
    const checkpoint: Checkpoint = {
      v: head.v,
      id: row.checkpointId,
      ts: head.ts,
      channel_values: values,
      channel_versions: head.versions,
      versions_seen: head.seen,
    };
    if (head.v < 4 && row.parentId !== undefined) await this.#movePendingSends(row, checkpoint);
    const tuple: CheckpointTuple = {
      config: configOf(row),
      checkpoint,
      metadata: head.meta,
      pendingWrites: await this.writes(row),
    };
    if (row.parentId !== undefined) tuple.parentConfig = configOf({ ...row, checkpointId: row.parentId });
    return tuple;
  }

  /** Values of channels that the head says it has. @throws DamagedRecordError when one is missing or damaged. */
  async values(row: HeadRow, head: Head, channels: readonly string[]): Promise<Record<string, unknown>> {
    const keys = channels.map((channel) => ({ channel, version: String(head.versions[channel]) }));
    const blobs = await this.#driver.values(row.threadId, row.namespace, keys);
    const sources = keys.map((key, i) => {
      const data = blobs[i];
      const place = { ...placeOf(row), channel: key.channel };
      if (data === undefined) throw new DamagedRecordError({ reason: "its value is missing", place });
      return { data, at: placeIn.value(row.threadId, row.namespace, key), place };
    });
    const values = await this.#codec.decode(this.#driver, row.threadId, sources);
    return Object.fromEntries(channels.map((channel, i) => [channel, values[i]]));
  }

  /** Pending writes in the order in which a live run applies them. */
  async writes(address: HeadAddress, channels?: readonly string[]): Promise<CheckpointPendingWrite[]> {
    const rows = await this.#driver.writes(address, channels);
    const sorted = rows
      .map((row) => ({ row, key: writesSortKey(row.taskPath, row.taskId, row.index) }))
      .sort((a, b) => compareWritesSortKeys(a.key, b.key));
    const values = await this.#codec.decode(
      this.#driver,
      address.threadId,
      sorted.map(({ row }) => ({
        data: row.data,
        at: placeIn.write(address, row),
        place: placeOfWrite(address, row),
      })),
    );
    return sorted.map(({ row }, i) => [row.taskId, row.channel, values[i]]);
  }

  /** Checkpoints of versions before 4 kept their sends in the parent's writes. */
  async #movePendingSends(row: HeadRow, checkpoint: Checkpoint): Promise<void> {
    const parent = { ...row, checkpointId: row.parentId as string };
    const sends = await this.writes(parent, [TASKS]);
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [TASKS]: versions.length > 0 ? maxChannelVersion(...versions) : this.#nextVersion(),
    };
  }
}

export function placeOf({ threadId, namespace, checkpointId }: HeadAddress): RecordPlace {
  return { threadId, namespace, checkpointId };
}

function placeOfWrite(address: HeadAddress, row: WriteRow): RecordPlace {
  return { ...placeOf(address), channel: row.channel, record: `write of task ${row.taskId}` };
}

import {
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  maxChannelVersion,
  TASKS,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import type { HeadAddress, HeadRow, StorageDriver, WriteRow } from "../driver/driver.ts";
import { place as placeIn } from "../encoding/place.ts";
import { DamagedRecordError, type RecordPlace, StateVersionError } from "../errors.ts";
import { type Codec, within } from "./codec.ts";
import { configOf } from "./config.ts";
import type { Head } from "./head.ts";
import type { RenamedTask } from "./rename-nodes.ts";
import { settled } from "./settled.ts";
import type { StateMigrator, StateWrite } from "./state-migrator.ts";
import { STATE_VERSION, stateVersionOf, VersionedWrite } from "./state-version.ts";

/** Puts tuples together from rows, and brings them to the state version of the code. */
export class Reader {
  readonly #driver: StorageDriver;
  readonly #codec: Codec;
  readonly #nextVersion: () => string;
  readonly #migrator: StateMigrator | undefined;

  /** @param migrator undefined: everything is read as it is stored */
  constructor(
    driver: StorageDriver,
    codec: Codec,
    nextVersion: () => string,
    migrator: StateMigrator | undefined,
  ) {
    this.#driver = driver;
    this.#codec = codec;
    this.#nextVersion = nextVersion;
    this.#migrator = migrator;
  }

  head(row: HeadRow): Head {
    return within(placeOf(row), () =>
      this.#codec.heads.read(this.#codec.unseal(row.data, placeIn.head(row, row.parentId))),
    );
  }

  /**
   * As `tuple`, beside a prune or a deletion: what is missing because the checkpoint went is no damage. Undefined when it went.
   */
  current(row: HeadRow, head?: Head): Promise<CheckpointTuple | undefined> {
    const { threadId, namespace, checkpointId } = row;
    let given: { readonly row: HeadRow | undefined; readonly head?: Head | undefined } | undefined = {
      row,
      head,
    };
    return settled(this.#driver, threadId, async () => {
      const at = given ?? { row: await this.#driver.head(threadId, namespace, checkpointId) };
      given = undefined;
      return at.row && this.tuple(at.row, at.head);
    });
  }

  async tuple(row: HeadRow, head?: Head): Promise<CheckpointTuple> {
    try {
      return await this.#tuple(row, head ?? this.head(row));
    } catch (error) {
      // what the back end finds itself does not say for which checkpoint it was asked
      throw DamagedRecordError.isInstance(error) ? error.at(placeOf(row)) : error;
    }
  }

  async #tuple(row: HeadRow, head: Head): Promise<CheckpointTuple> {
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
    let metadata = head.meta;
    let writes = await this.#writes(row);
    if (this.#migrator) {
      writes = await this.#migrate(this.#migrator, row, metadata, checkpoint, writes);
      if (this.#migrator.version > 0)
        metadata = Object.assign({}, metadata, { [STATE_VERSION]: this.#migrator.version });
    }
    const pendingWrites = writes.map(pendingOf);
    const tuple: CheckpointTuple = { config: configOf(row), checkpoint, metadata, pendingWrites };
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

  /** Whether the state of this checkpoint is of an older version than the code. */
  isOlder(head: Head): boolean {
    return this.#migrator !== undefined && stateVersionOf(head.meta) < this.#migrator.version;
  }

  /** Pending writes in the order in which a live run applies them, not migrated. */
  async writes(address: HeadAddress, channels?: readonly string[]): Promise<CheckpointPendingWrite[]> {
    return (await this.#writes(address, channels)).map(pendingOf);
  }

  async #writes(address: HeadAddress, channels?: readonly string[]): Promise<StateWrite[]> {
    const sorted = inOrder(await this.#driver.writes(address, channels));
    const values = await this.#codec.decode(
      this.#driver,
      address.threadId,
      sorted.map((row) => ({
        data: row.data,
        at: placeIn.write(address, row),
        place: placeOfWrite(address, row),
      })),
    );
    return sorted.map(({ taskId, index, taskPath, channel }, i) => {
      const value = values[i];
      const at = { taskId, index, taskPath, channel };
      return this.#migrator && value instanceof VersionedWrite
        ? { ...at, value: value.value, version: value.version }
        : { ...at, value, version: 0 };
    });
  }

  /** Brings `checkpoint` to the version of the code, and gives its writes. @throws StateVersionError */
  async #migrate(
    migrator: StateMigrator,
    row: HeadRow,
    metadata: CheckpointMetadata,
    checkpoint: Checkpoint,
    given: readonly StateWrite[],
  ): Promise<StateWrite[]> {
    const stored = within(placeOf(row), () => stateVersionOf(metadata));
    // whoever wrote had read the checkpoint, so was not older than it
    const writes = given.map((write) => ({ ...write, version: Math.max(write.version, stored) }));
    const { threadId, namespace, checkpointId } = row;
    const { state, renamed } = migrator.migrate(
      {
        threadId,
        namespace,
        checkpointId,
        step: (metadata.step ?? 0) + 1,
        versions: checkpoint.channel_versions,
        seen: checkpoint.versions_seen,
        values: checkpoint.channel_values,
        writes,
      },
      stored,
    );
    if (stored === migrator.version) return writes;
    await this.#refuseLostSubgraphs(migrator, row, stored, renamed, writes);
    checkpoint.channel_values = state.values;
    checkpoint.channel_versions = state.versions;
    checkpoint.versions_seen = state.seen;
    return inOrder(withoutReplaced(state.writes));
  }

  /**
   * A subgraph's checkpoints stand under its node's name. Under the new name a run that goes on would find none and begin again.
   */
  async #refuseLostSubgraphs(
    migrator: StateMigrator,
    row: HeadRow,
    stored: number,
    renamed: readonly RenamedTask[],
    writes: readonly StateWrite[],
  ): Promise<void> {
    const done = new Set(writes.filter(({ index }) => index >= 0).map(({ taskId }) => taskId));
    const open = renamed.filter(({ from }) => !done.has(from));
    if (open.length === 0) return;
    const { threadId, namespace, checkpointId } = row;
    const newest = await this.#driver.head(threadId, namespace);
    // an older one is for looking back, or for going another way from there
    if (newest?.checkpointId !== checkpointId) return;
    for (const child of open.flatMap(({ namespaces }) => namespaces)) {
      if (!(await this.#driver.head(threadId, child))) continue;
      const [reason, supported] = ["renamed-subgraph", migrator.version] as const;
      throw new StateVersionError({ threadId, namespace, checkpointId, reason, stored, supported });
    }
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

function pendingOf({ taskId, channel, value }: StateWrite): CheckpointPendingWrite {
  return [taskId, channel, value];
}

function inOrder<T extends Pick<WriteRow, "taskId" | "index" | "taskPath">>(writes: readonly T[]): T[] {
  return writes
    .map((write) => ({ write, key: writesSortKey(write.taskPath, write.taskId, write.index) }))
    .sort((a, b) => compareWritesSortKeys(a.key, b.key))
    .map(({ write }) => write);
}

/** A task that has another id now may have written again under it: the newer code's write stands. */
function withoutReplaced(writes: readonly StateWrite[]): StateWrite[] {
  const idOf = ({ taskId, index }: StateWrite) => `${index} ${taskId}`;
  const newest = new Map<string, number>();
  for (const write of writes) newest.set(idOf(write), Math.max(newest.get(idOf(write)) ?? 0, write.version));
  return writes.filter((write) => write.version === newest.get(idOf(write)));
}

export function placeOf({ threadId, namespace, checkpointId }: HeadAddress): RecordPlace {
  return { threadId, namespace, checkpointId };
}

function placeOfWrite(address: HeadAddress, row: WriteRow): RecordPlace {
  return { ...placeOf(address), channel: row.channel, record: `write of task ${row.taskId}` };
}

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import {
  type ArtifactStore,
  type BudgetLedger,
  createStorage,
  type EffectLedger,
  InvalidOptionsError,
  type LeaseStore,
  type LonghaulStorage,
  type RecordStore,
  type RunStore,
} from "@longhaul/core";
import { storable } from "./address.ts";
import { Codec } from "./checkpoint/codec.ts";
import { addressOf, checkConfig, configOf } from "./checkpoint/config.ts";
import { copyThread } from "./checkpoint/copy-thread.ts";
import { deltaHistory } from "./checkpoint/delta-history.ts";
import { exportThread } from "./checkpoint/export-thread.ts";
import { type ImportOptions, importThread } from "./checkpoint/import-thread.ts";
import { listTuples } from "./checkpoint/list.ts";
import { Marks } from "./checkpoint/marks.ts";
import {
  type MigrateOptions,
  type MigrateReport,
  type MigrateTarget,
  migrateFrom,
} from "./checkpoint/migrate-from.ts";
import { type PruneOptions, type PruneReport, pruneThread } from "./checkpoint/prune.ts";
import { Reader } from "./checkpoint/reader.ts";
import { checkRetention, type Retention } from "./checkpoint/retention.ts";
import { RetentionKeeper } from "./checkpoint/retention-keeper.ts";
import { StateMigrator } from "./checkpoint/state-migrator.ts";
import { collectStats, type SaverStats } from "./checkpoint/stats.ts";
import { type VerifyReport, verifyStorage } from "./checkpoint/verify.ts";
import { VersionSource } from "./checkpoint/version-source.ts";
import { type Fence, type Provenance, type PutHead, Writer } from "./checkpoint/writer.ts";
import type { StorageDriver, ThreadRow } from "./driver/driver.ts";
import { place } from "./encoding/place.ts";
import { Sealer } from "./encoding/sealer.ts";
import { InvalidAddressError, NoSuchCheckpointError } from "./errors.ts";
import { FileDriver } from "./file/file-driver.ts";
import { SealedArtifacts } from "./ledger/sealed-artifacts.ts";
import { SealedRecords } from "./ledger/sealed-records.ts";
import { MemoryDriver } from "./memory/memory-driver.ts";
import { PostgresDriver } from "./postgres/postgres-driver.ts";
import { RedisDriver } from "./redis/redis-driver.ts";
import { type CompactSaverOptions, type ResolvedSaverOptions, resolveSaverOptions } from "./saver-options.ts";
import { SqliteDriver } from "./sqlite/sqlite-driver.ts";
import { parseTarget } from "./target.ts";

/** One thread that has checkpoints. */
export type ThreadInfo = ThreadRow;

/**
 * A LangGraph checkpointer whose cost per step follows what the step adds, and the storage of Longhaul's ledgers.
 *
 * - State is stored per element and content-addressed: a message, a long string, a tool result is written once for each thread, also when
 *   it stands in pending writes or in the state that a `Send` carries.
 * - A value comes back exactly as it was, or `put` throws `UnstorableValueError` with its path and nothing is written.
 * - What is stored is a snapshot of the moment of the call.
 * - Calls take effect in the order in which they are made, also when they are not awaited; a checkpoint is never durable before
 *   the writes that were put before it.
 * - A second child of one checkpoint is a readable fork; `events` receives `checkpoint.forked`.
 * - Damage is a `DamagedRecordError` with thread, checkpoint and channel, never an absent checkpoint.
 */
export class CompactSaver extends BaseCheckpointSaver<string> implements LonghaulStorage {
  readonly records: RecordStore;
  readonly effects: EffectLedger;
  readonly budgets: BudgetLedger;
  readonly runs: RunStore;
  readonly leases: LeaseStore;
  readonly artifacts: ArtifactStore;
  readonly survivesProcess: boolean;
  readonly #driver: StorageDriver;
  readonly #versions: VersionSource;
  readonly #codec: Codec;
  readonly #writer: Writer;
  readonly #reader: Reader;
  readonly #marks: Marks;
  readonly #retention: Retention;
  readonly #keeper: RetentionKeeper;
  readonly #now: () => number;

  /** Over a driver of your own; `fromConnString` makes the usual ones. */
  constructor(driver: StorageDriver, options: CompactSaverOptions = {}) {
    super();
    const resolved = resolveSaverOptions(options);
    const { deps } = resolved;
    const sealer = new Sealer(resolved.sealer);
    const storage = createStorage({
      records: new SealedRecords(driver, sealer),
      artifacts: new SealedArtifacts(driver, sealer),
      survivesProcess: driver.survivesProcess,
      deps,
    });
    this.records = storage.records;
    this.artifacts = storage.artifacts;
    this.effects = storage.effects;
    this.budgets = storage.budgets;
    this.runs = storage.runs;
    this.leases = storage.leases;
    this.survivesProcess = driver.survivesProcess;
    this.#driver = driver;
    this.#versions = new VersionSource(deps.random);
    this.#codec = new Codec(sealer, resolved.reviveClasses);
    const codec = this.#codec;
    const migrator =
      resolved.migrations === "as-stored"
        ? undefined
        : new StateMigrator(resolved.migrations, (values) => codec.encode(values).map((form) => form.inline));
    this.#reader = new Reader(driver, codec, () => this.#versions.next(undefined), migrator);
    this.#now = () => deps.clock.now();
    this.#marks = new Marks(storage.records);
    this.#retention = resolved.retention;
    const reporting = { events: resolved.events, now: this.#now };
    this.#writer = new Writer(driver, codec, { ...reporting, stateVersion: migrator?.version ?? 0 });
    this.#keeper = new RetentionKeeper((threadId) => this.prune(threadId), reporting);
  }

  /**
   * `"agent.db"`, `"sqlite:agent.db"`, `"sqlite:agent.db?mode=ro"` for a SQLite file; `":memory:"`; `"file:./checkpoints"` for a folder of JSON
   * lines; `"postgres://…?schema=longhaul"`; `"redis://…"`. Opens at the first call, so this touches neither disk nor network. The client
   * (`better-sqlite3`, `pg`, `redis`) is loaded then.
   *
   * @throws InvalidOptionsError for a string that is no target.
   */
  static fromConnString(target: string, options: CompactSaverOptions = {}): CompactSaver {
    const driver = driverFor(target, resolveSaverOptions(options));
    // a journal of JSON lines is there to be read
    const isReadable = driver instanceof FileDriver && options.compression === undefined;
    return new CompactSaver(driver, isReadable ? { ...options, compression: "none" } : options);
  }

  /** Opens, and creates or migrates tables. Optional, idempotent, safe in several processes at once. */
  setup(): Promise<void> {
    return this.#driver.open();
  }

  /** Waits for writes under way and closes. Idempotent; other calls throw `StorageClosedError` afterwards. */
  async end(): Promise<void> {
    await this.#writer.idle();
    await this.#keeper.idle();
    await this.#driver.close();
  }

  /** @throws DamagedRecordError when the checkpoint is there but cannot be read. */
  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    checkConfig(config);
    if (config.configurable?.thread_id === undefined) return undefined;
    const { threadId, namespace, checkpointId } = addressOf(config);
    const row = await this.#driver.head(threadId, namespace, checkpointId);
    return row && this.#reader.current(row);
  }

  /** Newest first. Holds the addresses in memory, reads one checkpoint at a time. `limit` 0 gives none. */
  list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    return listTuples(this.#driver, this.#reader, config, options);
  }

  /**
   * Stores the values of the channels in `newVersions` and the checkpoint, atomically. Repeating it changes nothing.
   *
   * @throws UnstorableValueError before anything is written.
   */
  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    return this.#put("here", config, checkpoint, metadata, newVersions);
  }

  async #put(
    made: Provenance,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { threadId, namespace, checkpointId: parentId } = addressOf(config);
    if (typeof checkpoint !== "object" || checkpoint === null)
      throw invalid("checkpoint", checkpoint, "a checkpoint");
    const checkpointId = storable("checkpoint.id", checkpoint.id);
    const head: PutHead = { threadId, namespace, checkpointId, parentId };
    await this.#writer.putCheckpoint(head, checkpoint, metadata, newVersions, fenceOf(config), made);
    if (this.#retention !== "all") this.#keeper.observe(head, checkpoint);
    return configOf(head);
  }

  /**
   * Stores writes of a task. Ordinary writes are write-once by task and position; those to special channels (error, interrupt,
   * resume, scheduled) have their own places and may be replaced.
   */
  async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    return this.#putWrites("here", config, writes, taskId, taskPath);
  }

  async #putWrites(
    made: Provenance,
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath: string,
  ): Promise<void> {
    const { threadId, namespace, checkpointId } = addressOf(config);
    if (checkpointId === undefined) {
      throw new InvalidAddressError({ field: "checkpoint_id", reason: "must be given to store writes" });
    }
    if (!Array.isArray(writes) || !writes.every(Array.isArray))
      throw invalid("writes", writes, "an array of [channel, value]");
    await this.#writer.putWrites(
      { threadId, namespace, checkpointId },
      writes.map(([channel, value], i) => ({ channel, value, index: indexOf(channel, i) })),
      storable("task_id", taskId),
      taskPath,
      fenceOf(config),
      made,
    );
  }

  /** Erases checkpoints, effects, budgets, run records and artifacts of the thread, and raises its generation by one. */
  async deleteThread(threadId: string): Promise<void> {
    const id = storable("thread_id", threadId);
    const at = place.record({ collection: "generations", thread: "", key: id }, undefined);
    await this.#driver.deleteThread(id, (stored) => {
      const { generation } = stored
        ? (JSON.parse(this.#codec.unseal(stored, at)) as { generation: number })
        : { generation: 0 };
      return this.#codec.seal(JSON.stringify({ v: 1, generation: generation + 1 }), at);
    });
    this.#codec.forget(id);
  }

  /**
   * Versions that no two branches share. They are strings; the second signature is there because LangGraph's `compile` and `createAgent`
   * take savers typed for numbers only, and hand versions back as they came.
   */
  override getNextVersion(current: string | undefined): string;
  override getNextVersion(current: number | undefined): number;
  override getNextVersion(current: string | number | undefined): string | number {
    return this.#versions.next(current);
  }

  override getDeltaChannelHistory(
    options: Parameters<BaseCheckpointSaver["getDeltaChannelHistory"]>[0],
  ): ReturnType<BaseCheckpointSaver["getDeltaChannelHistory"]> {
    return deltaHistory(this.#driver, this.#reader, options);
  }

  /**
   * Names a checkpoint a milestone, which retention keeps. Without `checkpoint_id` the newest one of the namespace.
   *
   * @throws NoSuchCheckpointError
   */
  async mark(config: RunnableConfig, label: string): Promise<void> {
    const { threadId, namespace, checkpointId } = addressOf(config);
    const row = await this.#driver.head(threadId, namespace, checkpointId);
    if (!row) throw new NoSuchCheckpointError({ threadId, checkpointId });
    await this.#marks.set(row, label);
  }

  /**
   * Deletes the checkpoints of a thread that `policy` does not keep, with all that only they need, and expired ledger records. Safe beside a
   * run, idempotent, all or nothing; the space is used again.
   *
   * @param policy default: the saver's `retention`
   * @throws InvalidOptionsError for a policy that makes no sense; DamagedRecordError when something cannot be read; StorageBusyError
   *   when a run wrote all the while. Nothing was deleted then.
   */
  async prune(
    threadId: string,
    policy: Retention = this.#retention,
    options: PruneOptions = {},
  ): Promise<PruneReport> {
    const id = storable("thread_id", threadId);
    checkRetention("policy", policy);
    await this.#writer.idle();
    const parts = {
      driver: this.#driver,
      codec: this.#codec,
      reader: this.#reader,
      marks: this.#marks,
      now: this.#now,
    };
    return pruneThread(parts, id, policy, options);
  }

  /**
   * Copies a thread under a new id: checkpoints of all namespaces, pending writes, artifacts and marks, not the ledgers. A copy that was cut short
   * has no checkpoints and may be begun again.
   *
   * @throws ThreadExistsError when `to` has checkpoints; NoSuchCheckpointError when `from` has none
   */
  async copyThread(from: string, to: string): Promise<void> {
    const [source, target] = [storable("from", from), storable("to", to)];
    await this.#writer.idle();
    if (!(await this.#driver.thread(source))) throw new NoSuchCheckpointError({ threadId: source });
    await copyThread({ driver: this.#driver, codec: this.#codec, marks: this.#marks }, source, target);
  }

  /**
   * A thread as JSON Lines, one line at a time without line ends; the forms are in docs/stored-format.md. Readable, not encrypted, size in
   * proportion to what is stored. Ledgers (effects, budgets, runs) are not in it.
   *
   * @throws NoSuchCheckpointError when the thread has no checkpoints
   */
  async *exportThread(threadId: string): AsyncGenerator<string> {
    const id = storable("thread_id", threadId);
    await this.#writer.idle();
    yield* exportThread({ driver: this.#driver, codec: this.#codec, marks: this.#marks }, id);
  }

  /**
   * Stores what `exportThread` gave, here or anywhere. Nothing of it is seen before all of it is there.
   *
   * @throws ImportError for a file that is damaged, cut or foreign; ThreadExistsError when the thread is there already
   */
  async importThread(
    lines: AsyncIterable<string> | Iterable<string>,
    options: ImportOptions = {},
  ): Promise<string> {
    const isIterable = lines && (Symbol.asyncIterator in Object(lines) || Symbol.iterator in Object(lines));
    if (!isIterable) throw invalid("lines", lines, "an iterable of the file's lines");
    return importThread({ driver: this.#driver, codec: this.#codec, marks: this.#marks }, lines, options);
  }

  /**
   * Takes over threads of another saver, official or not: all namespaces, pending writes, forks. May be repeated; what is there is skipped.
   *
   * @param threadIds default: all that the other saver lists
   */
  migrateFrom(
    saver: BaseCheckpointSaver,
    threadIds?: readonly string[],
    options: MigrateOptions = {},
  ): Promise<MigrateReport> {
    if (typeof saver?.list !== "function" || typeof saver.getTuple !== "function")
      throw invalid("saver", saver, "a LangGraph checkpointer");
    const has = async (config: RunnableConfig) => {
      const { threadId, namespace, checkpointId } = addressOf(config);
      return (await this.#driver.head(threadId, namespace, checkpointId)) !== undefined;
    };
    // made by whatever code ran on the other saver: of version 0, unless the metadata says otherwise
    const target: MigrateTarget = {
      has,
      put: (...call) => this.#put("elsewhere", ...call),
      putWrites: (config, writes, taskId) => this.#putWrites("elsewhere", config, writes, taskId, ""),
    };
    return migrateFrom(saver, target, threadIds, options);
  }

  /** Threads that have checkpoints, oldest first. */
  async *listThreads(): AsyncGenerator<ThreadInfo> {
    yield* this.#driver.threads();
  }

  /** What a thread, or everything, takes. Reads every row once. */
  stats(threadId?: string): Promise<SaverStats> {
    return collectStats(this.#driver, threadId);
  }

  /** Checks checksums, content addresses, parents and references of a thread, or of all. Changes nothing. */
  verify(threadId?: string): Promise<VerifyReport> {
    return verifyStorage(this.#driver, this.#codec, threadId);
  }
}

function invalid(option: string, value: unknown, expected: string): InvalidOptionsError {
  return new InvalidOptionsError({ option, value, expected });
}

/** The fencing token of the lease under which a supervised run writes. */
function fenceOf(config: RunnableConfig): Fence {
  const lease: unknown = config.configurable?.longhaul_lease;
  const token = typeof lease === "object" && lease !== null && "token" in lease ? lease.token : undefined;
  return typeof token === "number" ? token : undefined;
}

/** Own entries only: a channel may be called `constructor`. */
function indexOf(channel: string, position: number): number {
  return Object.hasOwn(WRITES_IDX_MAP, channel) ? (WRITES_IDX_MAP[channel] as number) : position;
}

function driverFor(target: string, options: ResolvedSaverOptions): StorageDriver {
  const parsed = parseTarget(target);
  if (parsed.kind === "memory") return new MemoryDriver({ clock: options.deps.clock });
  if (parsed.kind === "sqlite") return new SqliteDriver({ ...parsed, ...options });
  if (parsed.kind === "postgres") return new PostgresDriver({ ...options.postgres, ...parsed, ...options });
  if (parsed.kind === "files") return new FileDriver({ ...parsed, ...options });
  return new RedisDriver({ ...options.redis, ...parsed, ...options });
}

import type { RunnableConfig } from "@langchain/core/runnables";
import type {
  BaseCheckpointSaver,
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { LonghaulError } from "@longhaul/core";
import { VersionConflictError } from "../errors.ts";

export interface MigrateOptions {
  /** Told after each checkpoint. */
  readonly onProgress?: ((progress: MigrateProgress) => void) | undefined;
}

export interface MigrateProgress {
  readonly threadId: string;
  /** Of this thread. */
  readonly done: number;
  readonly total: number;
}

export interface MigrateReport {
  readonly threads: number;
  readonly checkpoints: number;
  readonly writes: number;
  /** Checkpoints that were there already. */
  readonly skipped: number;
  /** What could not be taken over, and why. */
  readonly problems: readonly {
    readonly threadId: string;
    readonly checkpointId: string;
    readonly error: string;
  }[];
}

/** The part of a CompactSaver that this needs. */
export interface MigrateTarget {
  has(config: RunnableConfig): Promise<boolean>;
  put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig>;
  putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void>;
}

/** Branches that may share one version of a channel; more are a problem of the source. */
const ALTERNATES = 1_000;

/**
 * Takes over threads of another saver through its public methods, oldest checkpoint first, all namespaces, with pending writes. Reads one
 * checkpoint at a time, as far as the other saver's `list` does. What is there already is skipped, so an interrupted call may be repeated.
 *
 * Versions stay as they are. Savers that count integers give two branches the same version of a channel for different values; the later one gets a
 * fraction (`7` becomes `7.0009765625`), in what its nodes have seen too.
 */
export async function migrateFrom(
  source: BaseCheckpointSaver,
  target: MigrateTarget,
  threadIds: readonly string[] | undefined,
  { onProgress }: MigrateOptions = {},
): Promise<MigrateReport> {
  const report = {
    threads: 0,
    checkpoints: 0,
    writes: 0,
    skipped: 0,
    problems: [] as MigrateReport["problems"][number][],
  };
  for (const threadId of threadIds ?? (await threadsOf(source))) {
    const configs: RunnableConfig[] = [];
    for await (const { config } of source.list({ configurable: { thread_id: threadId } }))
      configs.push(config);
    if (configs.length > 0) report.threads += 1;
    for (const [done, config] of sorted(configs).entries()) {
      const checkpointId = String(config.configurable?.checkpoint_id);
      try {
        if (await target.has(config)) report.skipped += 1;
        else {
          const tuple = await source.getTuple(config);
          if (!tuple) throw new Error("it is listed, but cannot be read");
          await takeOver(tuple, target);
          report.checkpoints += 1;
          report.writes += tuple.pendingWrites?.length ?? 0;
        }
      } catch (error) {
        // a storage that fails will fail for the next one too
        if (LonghaulError.isInstance(error) && /^STORAGE_/.test(error.code)) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        report.problems.push({ threadId, checkpointId, error: reason });
      }
      onProgress?.({ threadId, done: done + 1, total: configs.length });
    }
  }
  return report;
}

async function threadsOf(source: BaseCheckpointSaver): Promise<string[]> {
  const found = new Set<string>();
  for await (const { config } of source.list({ configurable: {} })) {
    const id: unknown = config.configurable?.thread_id;
    if (typeof id === "string" && id !== "") found.add(id);
  }
  return [...found].reverse();
}

/** Savers list the newest first, by id; ids of one thread grow with time. */
function sorted(configs: readonly RunnableConfig[]): RunnableConfig[] {
  const idOf = (config: RunnableConfig) => String(config.configurable?.checkpoint_id);
  return [...configs].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

async function takeOver(tuple: CheckpointTuple, target: MigrateTarget): Promise<void> {
  const { checkpoint, metadata, config, parentConfig, pendingWrites = [] } = tuple;
  const namespace = String(config.configurable?.checkpoint_ns ?? "");
  const at = { configurable: { thread_id: config.configurable?.thread_id, checkpoint_ns: namespace } };
  const parent = parentConfig?.configurable?.checkpoint_id;
  const under = parent === undefined ? at : { configurable: { ...at.configurable, checkpoint_id: parent } };
  // writes first: a checkpoint that is there is skipped when an interrupted call is repeated, so it must not be there without them
  const tasks = new Map<string, PendingWrite[]>();
  for (const [taskId, channel, value] of pendingWrites)
    tasks.set(taskId, [...(tasks.get(taskId) ?? []), [channel, value]]);
  const written = { configurable: { ...at.configurable, checkpoint_id: checkpoint.id } };
  for (const [taskId, writes] of tasks) await target.putWrites(written, writes, taskId);
  const chosen = new Map<string, number>();
  for (;;) {
    const moved = withVersions(checkpoint, chosen);
    const stored = Object.keys(moved.channel_values ?? {}).filter(
      (channel) => moved.channel_versions[channel] !== undefined,
    );
    const fresh = Object.fromEntries(
      stored.map((channel) => [channel, moved.channel_versions[channel] as string | number]),
    );
    try {
      await target.put(under, moved, metadata ?? { source: "loop", step: -1, parents: {} }, fresh);
      break;
    } catch (error) {
      const next = VersionConflictError.isInstance(error) ? (chosen.get(error.channel) ?? 0) + 1 : ALTERNATES;
      if (!VersionConflictError.isInstance(error) || next >= ALTERNATES) throw error;
      chosen.set(error.channel, next);
    }
  }
}

/** The checkpoint with the chosen alternates of its channels' versions, in what its nodes have seen too. */
function withVersions(checkpoint: Checkpoint, chosen: ReadonlyMap<string, number>): Checkpoint {
  if (chosen.size === 0) return checkpoint;
  const versions = { ...checkpoint.channel_versions };
  for (const [channel, alternate] of chosen) versions[channel] = alternateOf(versions[channel], alternate);
  const seen = Object.entries(checkpoint.versions_seen ?? {}).map(([node, channels]) => {
    const changed = Object.entries(channels).map(([channel, version]) => {
      const isCurrent = chosen.has(channel) && version === checkpoint.channel_versions[channel];
      return [channel, isCurrent ? versions[channel] : version];
    });
    return [node, Object.fromEntries(changed)];
  });
  return { ...checkpoint, channel_versions: versions, versions_seen: Object.fromEntries(seen) };
}

function alternateOf(version: string | number | undefined, alternate: number): string | number {
  return typeof version === "number" ? version + alternate / 1_024 : `${version}.${alternate}`;
}

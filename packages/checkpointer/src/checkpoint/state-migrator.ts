import {
  type ChannelVersions,
  maxChannelVersion,
  type PendingWrite,
  TASKS,
} from "@langchain/langgraph-checkpoint";
import { StateVersionError } from "../errors.ts";
import {
  isControlChannel,
  isSend,
  type NodeNames,
  type RenamedTask,
  renameChannel,
  renamedTasks,
  renameInValue,
  renamePath,
  renameSeen,
  reversion,
  withoutQuestionIds,
  withSend,
} from "./rename-nodes.ts";
import type { GraphMigration, StateMigration } from "./state-migrations.ts";
import { migratedVersion } from "./state-version.ts";

/** A pending write with all that tells where it stands. */
export interface StateWrite {
  readonly taskId: string;
  readonly index: number;
  readonly taskPath: string;
  readonly channel: string;
  readonly value: unknown;
  /** State version of the code that made it. */
  readonly version: number;
}

/** A checkpoint while it is migrated. The objects are its own, the values are not. */
export interface MigratableState {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  /** Of the tasks that come next. */
  readonly step: number;
  versions: ChannelVersions;
  seen: Record<string, ChannelVersions>;
  values: Record<string, unknown>;
  writes: readonly StateWrite[];
}

export interface MigratedState {
  readonly state: MigratableState;
  /** Tasks that have other ids now. */
  readonly renamed: readonly RenamedTask[];
}

const NO_WRITES = "__no_writes__";
const START = "__start__";

/** Brings stored state to the version of the code, in memory. Pure. */
export class StateMigrator {
  /** The version of the code: that of the last migration, 0 without any. */
  readonly version: number;
  readonly #migrations: readonly StateMigration[];
  /** Texts that are equal when the values are, made before a migration can touch them. */
  readonly #textsOf: (values: readonly (readonly [channel: string, value: unknown])[]) => readonly string[];

  constructor(
    migrations: readonly StateMigration[],
    textsOf: (values: readonly (readonly [channel: string, value: unknown])[]) => readonly string[],
  ) {
    this.#migrations = migrations;
    this.#textsOf = textsOf;
    this.version = migrations.at(-1)?.version ?? 0;
  }

  /** @throws StateVersionError when state of this version is newer than the code, or older than the first step */
  check(stored: number, at: Where): void {
    const supported = this.version;
    if (stored > supported) throw new StateVersionError({ ...at, reason: "newer", stored, supported });
    const first = this.#migrations[0]?.version;
    if (first !== undefined && stored < first - 1)
      throw new StateVersionError({ ...at, reason: "missing-step", stored, supported });
  }

  /** @throws StateVersionError */
  migrate(state: MigratableState, stored: number): MigratedState {
    const { threadId, namespace, checkpointId } = state;
    const at = { threadId, namespace, checkpointId };
    for (const version of [stored, ...state.writes.map((write) => write.version)]) this.check(version, at);
    const renamed: RenamedTask[] = [];
    let path = pathOf(namespace);
    for (const migration of this.#migrations) {
      if (migration.version <= stored) continue;
      const graph = graphOf(migration, path);
      path = renamedPath(migration, path);
      if (!graph) continue;
      try {
        renamed.push(...rename(state, graph, migration.version));
        this.#convert(state, graph, migration.version);
      } catch (cause) {
        if (StateVersionError.isInstance(cause)) throw cause;
        const [reason, supported] = ["failed", this.version] as const;
        throw new StateVersionError({ ...at, reason, stored, supported, step: migration.version, cause });
      }
    }
    return { state, renamed };
  }

  #convert(state: MigratableState, graph: GraphMigration, step: number): void {
    const { migrate, migrateWrite, migrateSend } = graph;
    if (!migrate && !migrateSend) return;
    const before = new Map<string, string>();
    const entries = Object.entries(state.values);
    const texts = this.#textsOf(entries);
    entries.forEach(([channel], i) => {
      before.set(channel, texts[i] as string);
    });
    const own = entries.filter(([channel]) => !isControlChannel(channel));
    const control = entries
      .filter(([channel]) => isControlChannel(channel))
      .map(([channel, value]) => [channel, convertControl(channel, value, graph)] as const);
    const made = migrate && own.length > 0 ? migrate(Object.fromEntries(own)) : Object.fromEntries(own);
    if (typeof made !== "object" || made === null || Array.isArray(made) || made instanceof Promise)
      throw new TypeError("migrate must give an object of channels, at once");
    for (const channel of Object.keys(made))
      if (isControlChannel(channel)) throw new TypeError(`migrate gave ${channel}, which is LangGraph's`);
    const all = [...control, ...Object.entries(made)];
    const after = this.#textsOf(all);
    const changed = all
      .filter(([channel], i) => before.get(channel) !== after[i])
      .map(([channel]) => channel);
    state.values = Object.fromEntries(all);
    for (const channel of changed) reversionChannel(state, channel, step);
    for (const [channel] of own) {
      if (Object.hasOwn(made, channel)) continue;
      delete state.versions[channel];
      for (const channels of Object.values(state.seen)) delete channels[channel];
    }
    state.writes = state.writes.flatMap((write) => {
      const { channel, value } = write;
      if (write.version >= step) return [write];
      if (isControlChannel(channel)) return [{ ...write, value: convertControl(channel, value, graph) }];
      if (!migrateWrite) return [write];
      const writes = migrateWrite(channel, value);
      if (writes.length === 0) return [{ ...write, channel: NO_WRITES, value: null }];
      return writes.map(([name, item]) => ({ ...write, channel: name, value: item }));
    });
  }
}

interface Where {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
}

/** The graph's input and sends hold state too. */
function convertControl(channel: string, value: unknown, graph: GraphMigration): unknown {
  const { migrateWrite, migrateSend } = graph;
  if (channel === TASKS && migrateSend) {
    if (Array.isArray(value)) return value.map((send) => convertControl(TASKS, send, graph));
    return isSend(value) ? withSend(value, value.node, migrateSend(value.node, value.args)) : value;
  }
  if (channel === START && migrateWrite && isPlain(value)) {
    const writes = Object.entries(value).flatMap(([key, item]): readonly PendingWrite[] =>
      migrateWrite(key, item),
    );
    return Object.fromEntries(writes);
  }
  return value;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Nodes from the root to the graph of this namespace: `plan:task|search:task` is plan, search. */
function pathOf(namespace: string): readonly string[] {
  if (namespace === "") return [];
  const segments = namespace.split("|").filter((segment) => !/^\d+$/.test(segment));
  return segments.map((segment) => segment.split(":", 1)[0] as string);
}

function graphOf(migration: StateMigration, path: readonly string[]): GraphMigration | undefined {
  if (path.length === 0) return migration;
  const { subgraphs = {} } = migration;
  const key = path.join("|");
  return Object.hasOwn(subgraphs, key) ? subgraphs[key] : undefined;
}

/** As the next step's author knows it: nodes on the way may have been renamed by this one. */
function renamedPath(migration: StateMigration, path: readonly string[]): readonly string[] {
  return path.map((node, i) => {
    const { nodes = {} } = graphOf(migration, path.slice(0, i)) ?? {};
    return (Object.hasOwn(nodes, node) ? nodes[node] : undefined) ?? node;
  });
}

function rename(state: MigratableState, { nodes = {} }: GraphMigration, step: number): RenamedTask[] {
  const names: NodeNames = new Map(Object.entries(nodes).filter(([from, to]) => from !== to));
  if (names.size === 0) return [];
  const tasks = renamedTasks(state, state.versions, state.seen, state.values[TASKS], names);
  const taskIds = new Map(tasks.map(({ from, to }) => [from, to]));
  const moved = Object.keys(state.versions).filter((channel) => renameChannel(channel, names) !== channel);
  const taken = moved
    .map((channel) => renameChannel(channel, names))
    .find((channel) => {
      return state.versions[channel] !== undefined && !moved.includes(channel);
    });
  if (taken !== undefined) throw new TypeError(`there is a channel ${taken} already: nodes cannot be merged`);
  for (const to of names.values())
    if (state.seen[to] !== undefined && !names.has(to))
      throw new TypeError(`there is a node ${to} already: nodes cannot be merged`);
  state.seen = renameSeen(state.seen, names);
  const rekey = <T>(entries: readonly (readonly [string, T])[]) =>
    Object.fromEntries(entries.map(([channel, item]) => [renameChannel(channel, names), item]));
  state.versions = rekey(Object.entries(state.versions));
  const values = Object.entries(state.values).map(
    ([channel, value]) => [channel, renameInValue(channel, value, names)] as const,
  );
  const changed = values.filter(
    ([channel, value]) => renameChannel(channel, names) !== channel || value !== state.values[channel],
  );
  state.values = rekey(values);
  // stored under another name, or not at all yet
  for (const [channel] of changed) reversionChannel(state, renameChannel(channel, names), step);
  state.writes = state.writes.map((write) => {
    if (write.version >= step) return write;
    const { taskId, taskPath, channel } = write;
    const to = taskIds.get(taskId);
    const value = to === undefined ? write.value : withoutQuestionIds(channel, write.value);
    return {
      ...write,
      taskId: to ?? taskId,
      taskPath: renamePath(taskPath, names),
      channel: renameChannel(channel, names),
      value: renameInValue(channel, value, names),
    };
  });
  return tasks;
}

function reversionChannel(state: MigratableState, channel: string, step: number): void {
  const from = state.versions[channel];
  if (from === undefined) {
    const others = Object.values(state.versions);
    if (others.length === 0) return;
    state.versions[channel] = migratedVersion(maxChannelVersion(...others), step, state.checkpointId);
    return;
  }
  const to = migratedVersion(from, step);
  state.versions[channel] = to;
  reversion(state.seen, channel, from, to);
}

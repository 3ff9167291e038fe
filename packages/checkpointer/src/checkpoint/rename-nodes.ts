import {
  type ChannelVersions,
  compareChannelVersions,
  INTERRUPT,
  type SendProtocol,
  TASKS,
  uuid5,
} from "@langchain/langgraph-checkpoint";

/** Old names of nodes of one graph to new ones. */
export type NodeNames = ReadonlyMap<string, string>;

/** A task whose id changes because a name that went into it does. */
export interface RenamedTask {
  readonly from: string;
  readonly to: string;
  /** Namespaces of subgraphs that this task, or all calls of its node, had. */
  readonly namespaces: readonly string[];
}

const BRANCH = "branch:to:";
const JOIN = "join:";
/** How LangGraph names what starts a task. */
const PULL = "__pregel_pull";
const PUSH = "__pregel_push";
/** In `versions_seen`: which entries a snapshot advanced, as `node|channel` and `node:channel`. */
const SNAPSHOT_BUMPS = "__snapshot_bumps__";

/** Channels that LangGraph makes for its own use; a graph's state never has these names. */
export function isControlChannel(channel: string): boolean {
  return channel.startsWith("__") || channel.startsWith(BRANCH) || channel.startsWith(JOIN);
}

/** `branch:to:node` and `join:a+b:node` name nodes. */
export function renameChannel(channel: string, names: NodeNames): string {
  if (channel.startsWith(BRANCH)) return `${BRANCH}${renamed(channel.slice(BRANCH.length), names)}`;
  const join = joinOf(channel);
  if (!join) return channel;
  const starts = join.starts.map((name) => renamed(name, names));
  return `${JOIN}${starts.join("+")}:${renamed(join.end, names)}`;
}

/** A join remembers who arrived; a list of sends names who is to run. Other control values say nothing of nodes. */
export function renameInValue(channel: string, value: unknown, names: NodeNames): unknown {
  if (channel === TASKS) {
    if (Array.isArray(value)) return value.map((send) => renameInValue(TASKS, send, names));
    return isSend(value) ? withSend(value, renamed(value.node, names), value.args) : value;
  }
  if (channel === "__error_source_node__") return typeof value === "string" ? renamed(value, names) : value;
  if (!channel.startsWith(JOIN)) return value;
  if (Array.isArray(value)) return value.map((item) => renameInValue(channel, item, names));
  return typeof value === "string" ? renamed(value, names) : value;
}

/**
 * Questions of a task whose id changed. An answer is addressed by a hash of that id, so one that names the old hash reaches nobody; a question
 * without an id is answered by value, or asked again with its new one.
 */
export function withoutQuestionIds(channel: string, value: unknown): unknown {
  if (channel !== INTERRUPT || !Array.isArray(value)) return value;
  return value.map((question: unknown) => {
    if (typeof question !== "object" || question === null) return question;
    const { id: _old, ...rest } = question as { readonly id?: unknown };
    return rest;
  });
}

export function renameSeen(
  seen: Record<string, ChannelVersions>,
  names: NodeNames,
): Record<string, ChannelVersions> {
  const entries = Object.entries(seen).map(([node, channels]): [string, ChannelVersions] => {
    const own = Object.entries(channels).map(([key, version]): [string, string | number] => {
      if (node !== SNAPSHOT_BUMPS) return [renameChannel(key, names), version];
      const [at, name, channel] = bumpOf(key);
      return [`${renamed(name, names)}${at}${renameChannel(channel, names)}`, version];
    });
    return [renamed(node, names), Object.fromEntries(own)];
  });
  return Object.fromEntries(entries);
}

/** What nodes saw of a channel at one version, they saw at the version that takes its place. */
export function reversion(
  seen: Record<string, ChannelVersions>,
  channel: string,
  from: string | number,
  to: string | number,
): void {
  for (const [node, channels] of Object.entries(seen))
    for (const [key, version] of Object.entries(channels)) {
      const name = node === SNAPSHOT_BUMPS ? bumpOf(key)[2] : key;
      if (name === channel && version === from) channels[key] = to;
    }
}

/**
 * Tasks of a checkpoint whose ids change with these names. LangGraph makes an id of the namespace, the step, the node's name and what
 * triggered it, so pending writes would otherwise belong to nobody: finished work would be done again, a pause forgotten.
 */
export function renamedTasks(
  at: { readonly namespace: string; readonly checkpointId: string; readonly step: number },
  versions: ChannelVersions,
  seen: Record<string, ChannelVersions>,
  sends: unknown,
  names: NodeNames,
): RenamedTask[] {
  const tasks: RenamedTask[] = [];
  const spaceOf = (node: string) => (at.namespace === "" ? node : `${at.namespace}|${node}`);
  const idOf = (node: string, ...how: readonly unknown[]) =>
    uuid5(JSON.stringify([spaceOf(node), String(at.step), node, ...how]), at.checkpointId);
  const add = (node: string, from: string, to: string) => {
    if (from !== to) tasks.push({ from, to, namespaces: [`${spaceOf(node)}:${from}`, spaceOf(node)] });
  };
  for (const [channel, version] of Object.entries(versions)) {
    const node = channel.startsWith(BRANCH) ? channel.slice(BRANCH.length) : joinOf(channel)?.end;
    const before = node === undefined ? undefined : seen[node]?.[channel];
    if (node === undefined || (before !== undefined && compareChannelVersions(version, before) <= 0))
      continue;
    const to = idOf(renamed(node, names), PULL, [renameChannel(channel, names)]);
    add(node, idOf(node, PULL, [channel]), to);
  }
  for (const [i, send] of (Array.isArray(sends) ? sends : []).entries()) {
    if (!isSend(send)) continue;
    add(send.node, idOf(send.node, PUSH, String(i)), idOf(renamed(send.node, names), PUSH, String(i)));
  }
  return tasks;
}

/** Pending writes are applied in the order of their tasks' paths, in which a node's name may stand. */
export function renamePath(path: string, names: NodeNames): string {
  const prefix = `~${PULL}, `;
  return path.startsWith(prefix) ? `${prefix}${renamed(path.slice(prefix.length), names)}` : path;
}

export function isSend(value: unknown): value is SendProtocol {
  return typeof value === "object" && value !== null && "node" in value && typeof value.node === "string";
}

/** A copy that is still of the class it was. */
export function withSend(send: SendProtocol, node: string, args: unknown): SendProtocol {
  const copy = Object.create(Object.getPrototypeOf(send) as object) as SendProtocol;
  return Object.assign(copy, send, { node, args });
}

function renamed(name: string, names: NodeNames): string {
  return names.get(name) ?? name;
}

function joinOf(channel: string): { readonly starts: readonly string[]; readonly end: string } | undefined {
  const at = channel.lastIndexOf(":");
  if (!channel.startsWith(JOIN) || at < JOIN.length) return undefined;
  return { starts: channel.slice(JOIN.length, at).split("+"), end: channel.slice(at + 1) };
}

/** Node names have neither of the two signs in them. */
function bumpOf(key: string): readonly [sign: string, node: string, channel: string] {
  const at = key.search(/[|:]/);
  return at < 0 ? ["", "", key] : [key[at] as string, key.slice(0, at), key.slice(at + 1)];
}

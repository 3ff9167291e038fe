import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver } from "@langchain/langgraph";
import { emptyCheckpoint, uuid5, uuid6 } from "@langchain/langgraph-checkpoint";
import type { CompactSaver, StateMigration } from "@longhaul/checkpointer";
import { describe, expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

type Versions = Record<string, string | number>;

interface Stored {
  readonly namespace?: string;
  readonly parent?: RunnableConfig | undefined;
  readonly values?: Record<string, unknown>;
  readonly versions?: Versions;
  readonly seen?: Record<string, Versions>;
  readonly step?: number;
}

let count = 0;

/** Puts one checkpoint, with a value at its version for each of `values`. */
async function put(saver: CompactSaver | MemorySaver, stored: Stored = {}): Promise<RunnableConfig> {
  const { namespace = "", parent, values = {}, versions = {}, seen = {}, step = 1 } = stored;
  const under = { configurable: { thread_id: "t", checkpoint_ns: namespace } };
  const fresh = Object.fromEntries(
    Object.keys(values).map((channel) => [channel, versions[channel] as string]),
  );
  count += 1;
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(count),
    channel_values: values,
    channel_versions: versions,
    versions_seen: seen,
  };
  return saver.put(parent ?? under, checkpoint, { source: "loop", step, parents: {} }, fresh as never);
}

const REVIEW: StateMigration = { version: 1, nodes: { review: "approve" } };

/** Tens of it: applied twice, it shows. */
const TENS: Pick<StateMigration, "migrate" | "migrateWrite"> = {
  migrate: (values) =>
    Object.fromEntries(Object.entries(values).map(([channel, value]) => [channel, ten(value)])),
  migrateWrite: (channel, value) => [[channel, ten(value)]],
};

function ten(value: unknown): unknown {
  return typeof value === "number" ? value * 10 : value;
}

describe("what nodes have seen", () => {
  it("stays seen under new names and new versions, and what they have not seen stays new", async () => {
    const target = tempFile();
    const versions = { n: "3", "branch:to:review": "2", "branch:to:other": "2" };
    const seen = {
      review: { "branch:to:review": "2" },
      other: { "branch:to:other": "1" },
      __interrupt__: { n: "3", "branch:to:review": "2" },
      late: { n: "2" },
      __snapshot_bumps__: { "review|n": "3", "review:n": "1" },
    };
    const config = await put(open(target), { values: { n: 1 }, versions, seen });
    const tuple = await open(target, { migrations: [{ ...REVIEW, ...TENS }] }).getTuple(config);
    const after = tuple?.checkpoint;
    expect(after?.channel_values).toEqual({ n: 10 });
    expect(after?.channel_versions).toEqual({
      n: "3~0001",
      "branch:to:approve": "2",
      "branch:to:other": "2",
    });
    expect(after?.versions_seen).toEqual({
      approve: { "branch:to:approve": "2" },
      other: { "branch:to:other": "1" },
      __interrupt__: { n: "3~0001", "branch:to:approve": "2" },
      late: { n: "2" },
      __snapshot_bumps__: { "approve|n": "3~0001", "approve:n": "1" },
    });
  });

  it("versions of savers that count stay between the one before and the next", async () => {
    const target = tempFile();
    const config = await put(open(target), { values: { n: 1 }, versions: { n: 7 }, seen: { a: { n: 7 } } });
    const saver = open(target, { migrations: [{ version: 1, ...TENS }] });
    const version = (await saver.getTuple(config))?.checkpoint.channel_versions.n as number;
    expect(version).toBeGreaterThan(7);
    expect(version).toBeLessThan(7 + 1 / 1_024);
    expect(saver.getNextVersion(version)).toBeGreaterThan(version);
    expect((await saver.getTuple(config))?.checkpoint.versions_seen).toEqual({ a: { n: version } });
  });

  it("a channel that is left out goes everywhere", async () => {
    const target = tempFile();
    const config = await put(open(target), {
      values: { n: 1, gone: 2 },
      versions: { n: "1", gone: "1" },
      seen: { a: { gone: "1" } },
    });
    const migration: StateMigration = {
      version: 1,
      migrate: ({ gone, ...rest }) => rest,
      migrateWrite: (channel, value) => (channel === "gone" ? [] : [[channel, value]]),
    };
    const older = open(target);
    await older.putWrites(config, [["gone", 3]], "task");
    const tuple = await open(target, { migrations: [migration] }).getTuple(config);
    expect(tuple?.checkpoint.channel_values).toEqual({ n: 1 });
    expect(tuple?.checkpoint.channel_versions).toEqual({ n: "1" });
    expect(tuple?.checkpoint.versions_seen).toEqual({ a: {} });
    // the task has finished, with nothing to say
    expect(tuple?.pendingWrites).toEqual([["task", "__no_writes__", null]]);
  });
});

it("two branches get a new channel's value each, also when their versions are the same", async () => {
  const target = tempFile();
  const older = open(target);
  const a = await put(older, { values: { x: 1, y: 2 }, versions: { x: "2", y: "1" } });
  const b = await put(older, { values: { x: 3, y: 4 }, versions: { x: "1", y: "2" } });
  const migration: StateMigration = {
    version: 1,
    migrate: (values) => ({ ...values, sum: Number(values.x) + Number(values.y) }),
    migrateWrite: (channel, value) => [[channel, value]],
  };
  const saver = open(target, { migrations: [migration] });
  for (const [config, sum] of [[a, 3] as const, [b, 7] as const]) {
    const checkpoint = (await saver.getTuple(config))?.checkpoint;
    if (!checkpoint) throw new Error("it is gone");
    count += 1;
    const next = { ...checkpoint, id: uuid6(count) };
    const put = await saver.put(config, next, { source: "loop", step: 2, parents: {} }, {});
    const stored = await open(target, { migrations: "as-stored" }).getTuple(put);
    expect(stored?.checkpoint.channel_values).toMatchObject({ sum });
  }
});

it("pending writes keep the order in which a live run would apply them", async () => {
  const target = tempFile();
  const older = open(target);
  const config = await put(older);
  await older.putWrites(config, [["n", "from review"]], "task 1", "~__pregel_pull, review");
  await older.putWrites(config, [["n", "from b"]], "task 2", "~__pregel_pull, b");
  const orderOf = async (saver: CompactSaver) =>
    (await saver.getTuple(config))?.pendingWrites?.map(([, , value]) => value);
  expect(await orderOf(older)).toEqual(["from b", "from review"]);
  expect(await orderOf(open(target, { migrations: [REVIEW] }))).toEqual(["from review", "from b"]);
});

describe("subgraphs", () => {
  it("are found by the path that a step's author knows, after earlier steps renamed it", async () => {
    const target = tempFile();
    const config = await put(open(target), {
      namespace: "plan:1|2|search:3",
      values: { n: 1 },
      versions: { n: "1" },
    });
    const migrations: StateMigration[] = [
      { version: 1, nodes: { plan: "draft" }, subgraphs: { plan: { nodes: { search: "look" } } } },
      { version: 2, subgraphs: { "draft|look": TENS } },
      // another graph, that came to stand under the old names
      { version: 3, subgraphs: { "plan|search": { ...TENS, migrate: () => ({}) } } },
    ];
    const tuple = await open(target, { migrations }).getTuple(config);
    expect(tuple?.checkpoint.channel_values).toEqual({ n: 10 });
  });

  it("of a renamed node stop the newest checkpoint only, and only where something is stored of them", async () => {
    const target = tempFile();
    const migrations = [{ version: 1, nodes: { plan: "draft" } }];
    const older = open(target);
    const saver = open(target, { migrations });
    const at = { versions: { "branch:to:plan": "1" }, values: { "branch:to:plan": null } };
    const parent = await put(older, at);
    const id = uuid5(
      JSON.stringify(["plan", "2", "plan", "__pregel_pull", ["branch:to:plan"]]),
      String(parent.configurable?.checkpoint_id),
    );
    expect(await saver.getTuple(parent)).toBeDefined();
    await put(older, { namespace: `plan:${id}` });
    await expect(saver.getTuple(parent)).rejects.toMatchObject({ reason: "renamed-subgraph" });
    await put(older, { parent, step: 2 });
    expect((await saver.getTuple(parent))?.checkpoint.channel_values).toHaveProperty("branch:to:draft");
  });
});

it("a delta channel's history is of the code's version, whatever its ancestors are", async () => {
  const target = tempFile();
  const older = open(target);
  const first = await put(older, { values: { log: 1 }, versions: { log: "1" } });
  await older.putWrites(first, [["log", 2]], "task");
  const second = await put(older, { parent: first, versions: { log: "2" } });
  await older.putWrites(second, [["log", 3]], "task");
  const saver = open(target, { migrations: [{ version: 1, ...TENS }] });
  const third = await put(saver, { parent: second, versions: { log: "3" } });
  await saver.putWrites(third, [["log", 4]], "task");
  const fourth = await put(saver, { parent: third, versions: { log: "4" } });
  expect(await saver.getDeltaChannelHistory({ config: fourth, channels: ["log"] })).toEqual({
    log: {
      seed: 10,
      writes: [
        ["task", "log", 20],
        ["task", "log", 30],
        ["task", "log", 4],
      ],
    },
  });
});

describe("pending writes that were taken over", () => {
  it("from other savers are of version 0", async () => {
    const theirs = new MemorySaver();
    const config = await put(theirs, { values: { n: 1 }, versions: { n: 1 } });
    await theirs.putWrites(config, [["n", 2]], "task");
    const saver = open(tempFile(), { migrations: [{ version: 1, ...TENS }] });
    expect(await saver.migrateFrom(theirs)).toMatchObject({ problems: [] });
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([["task", "n", 20]]);
  });

  it("from ours are of the version of their checkpoint", async () => {
    const one: StateMigration = { version: 1, ...TENS };
    const source = open(tempFile(), { migrations: [one] });
    const config = await put(source, { values: { n: 1 }, versions: { n: "1" } });
    await source.putWrites(config, [["n", 2]], "task");
    // without the first step: taken for version 0, the write would be refused
    const saver = open(tempFile(), { migrations: [{ version: 2, ...TENS }] });
    expect(await saver.migrateFrom(source)).toMatchObject({ problems: [] });
    const tuple = await saver.getTuple(config);
    expect(tuple?.checkpoint.channel_values).toEqual({ n: 10 });
    expect(tuple?.pendingWrites).toEqual([["task", "n", 20]]);
  });
});

it("stamps and versions of writes survive export and copy", async () => {
  const migrations: StateMigration[] = [{ version: 1, ...TENS }];
  const saver = open(tempFile(), { migrations });
  const config = await put(saver, { values: { n: 1 }, versions: { n: "1" } });
  await saver.putWrites(config, [["n", 2]], "task");
  await saver.copyThread("t", "copy");
  const other = open(tempFile(), { migrations });
  await other.importThread(saver.exportThread("copy"));
  const copied = { configurable: { thread_id: "copy", checkpoint_ns: "" } };
  for (const place of [saver, other]) {
    const tuple = await place.getTuple(copied);
    expect(tuple?.checkpoint.channel_values).toEqual({ n: 1 });
    expect(tuple?.pendingWrites).toEqual([["task", "n", 2]]);
    expect(tuple?.metadata).toMatchObject({ longhaul_state_version: 1 });
  }
});

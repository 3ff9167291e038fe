import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { type CompactSaver, type StateMigration, StateVersionError } from "@longhaul/checkpointer";
import { InvalidOptionsError, superviseRun } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

const config = { configurable: { thread_id: "t" } };

interface Money {
  readonly amount: number;
  readonly currency: string;
}

/** C17: `review` is `approve` now, `total` an amount with its currency, `log` is new. */
const TO_1: StateMigration = {
  version: 1,
  nodes: { review: "approve" },
  migrate: ({ total, ...rest }) => ({
    ...rest,
    log: [],
    ...(total === undefined ? {} : { total: money(total) }),
  }),
  migrateWrite: (channel, value) => [[channel, channel === "total" ? money(value) : value]],
};

/** Fails when it meets what is migrated already. */
function money(total: unknown): Money {
  if (typeof total !== "number") throw new TypeError(`${JSON.stringify(total)} is no number`);
  return { amount: total, currency: "EUR" };
}

const TO_2: StateMigration = {
  version: 2,
  migrate: ({ total, ...rest }) => ({ ...rest, ...(total === undefined ? {} : { total: cents(total) }) }),
  migrateWrite: (channel, value) => [[channel, channel === "total" ? cents(value) : value]],
};

function cents(total: unknown): Money {
  const { amount, currency } = total as Money;
  if (currency !== "EUR") throw new TypeError(`${JSON.stringify(total)} is not in euros`);
  return { amount: amount * 100, currency: "cent" };
}

const V1 = Annotation.Root({ total: Annotation<number>, note: Annotation<string> });
const V2 = Annotation.Root({
  total: Annotation<Money>,
  note: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Stops before `review`. */
function v1(saver: BaseCheckpointSaver) {
  return new StateGraph(V1)
    .addNode("prepare", () => ({ total: 5, note: "prepared" }))
    .addNode("review", ({ total }) => ({ note: `reviewed ${total}` }))
    .addEdge(START, "prepare")
    .addEdge("prepare", "review")
    .addEdge("review", END)
    .compile({ checkpointer: saver, interruptBefore: ["review"] });
}

function v2(saver: BaseCheckpointSaver, ran: string[] = []) {
  return new StateGraph(V2)
    .addNode("prepare", () => {
      ran.push("prepare");
      return { note: "prepared" };
    })
    .addNode("approve", ({ total }) => {
      ran.push("approve");
      return { note: `approved ${total.amount} ${total.currency}`, log: ["approved"] };
    })
    .addNode("close", () => ({ log: ["closed"] }))
    .addEdge(START, "prepare")
    .addEdge("prepare", "approve")
    .addEdge("approve", "close")
    .addEdge("close", END)
    .compile({ checkpointer: saver, interruptBefore: ["approve"] });
}

async function rawOf(target: string): Promise<string[]> {
  const saver = open(target, { migrations: "as-stored" });
  const lines: string[] = [];
  for await (const line of saver.exportThread("t")) lines.push(line);
  return lines.slice(1, -1);
}

const TARGETS = [
  ["SQLite", () => tempFile()],
  ["files", () => `file:${tempFile("threads")}`],
] as const;

describe.each(TARGETS)("a thread of older code on %s", (_, make) => {
  it("C17: goes on before a renamed node, with its values migrated and the stored rows as they were", async () => {
    const target = make();
    await v1(open(target)).invoke({}, config);
    const before = await rawOf(target);
    const ran: string[] = [];
    const graph = v2(open(target, { migrations: [TO_1] }), ran);
    const state = await graph.getState(config);
    expect(state.next).toEqual(["approve"]);
    expect(state.values).toEqual({ total: { amount: 5, currency: "EUR" }, note: "prepared", log: [] });
    expect(ran).toEqual([]);
    expect(await rawOf(target)).toEqual(before);

    const result = await graph.invoke(null, config);
    const done = {
      total: { amount: 5, currency: "EUR" },
      note: "approved 5 EUR",
      log: ["approved", "closed"],
    };
    expect(result).toEqual(done);
    expect(ran).toEqual(["approve"]);
    const after = await rawOf(target);
    expect(before.filter((line) => !after.includes(line))).toEqual([]);

    // `total` was not written by any node of the newer code: what was migrated must be stored by now, and not migrated again
    const again = v2(open(target, { migrations: [TO_1] }));
    expect((await again.getState(config)).values).toEqual(done);
    expect(await open(target, { migrations: [TO_1] }).verify("t")).toMatchObject({ problems: [] });
    const stored = await open(target, { migrations: "as-stored" }).getTuple(config);
    expect(stored?.checkpoint.channel_values.total).toEqual({ amount: 5, currency: "EUR" });
    expect(stored?.metadata).toMatchObject({ longhaul_state_version: 1 });
  });

  it("C17: takes two steps at once, and one after the other", async () => {
    const target = make();
    await v1(open(target)).invoke({}, config);
    const total = { amount: 500, currency: "cent" };
    const both = v2(open(target, { migrations: [TO_2, TO_1] }));
    expect((await both.getState(config)).values).toMatchObject({ total, note: "prepared" });

    await v2(open(target, { migrations: [TO_1] })).updateState(config, { note: "touched" });
    const second = v2(open(target, { migrations: [TO_1, TO_2] }));
    expect((await second.getState(config)).values).toMatchObject({ total, note: "touched" });
    expect((await second.invoke(null, config)).note).toBe("approved 500 cent");
  });

  it("lists the history of all versions in the form of today", async () => {
    const target = make();
    await v1(open(target)).invoke({}, config);
    const graph = v2(open(target, { migrations: [TO_1] }));
    await graph.invoke(null, config);
    const history: unknown[] = [];
    for await (const { values, next } of graph.getStateHistory(config)) history.unshift([values.total, next]);
    const total = { amount: 5, currency: "EUR" };
    expect(history).toEqual([
      [undefined, ["__start__"]],
      [undefined, ["prepare"]],
      [total, ["approve"]],
      [total, ["close"]],
      [total, []],
    ]);
  });
});

describe("state that cannot be brought to the code's version", () => {
  it("C17: newer state is refused before any node runs, and nothing is written", async () => {
    const target = tempFile();
    await v2(open(target, { migrations: [TO_1] })).invoke({ total: { amount: 1, currency: "EUR" } }, config);
    const before = await rawOf(target);
    const ran: string[] = [];
    const older = v2(open(target), ran);
    const error = await older.invoke(null, config).catch((thrown: unknown) => thrown);
    expect(StateVersionError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ reason: "newer", stored: 1, supported: 0, threadId: "t" });
    await expect(older.updateState(config, { note: "x" })).rejects.toMatchObject({ reason: "newer" });
    await expect(older.getState(config)).rejects.toThrow("this code knows versions up to 0");
    expect(ran).toEqual([]);
    expect(await rawOf(target)).toEqual(before);
  });

  it("C17: a write of newer code on an older checkpoint is refused too", async () => {
    const target = tempFile();
    const older = open(target, { migrations: [TO_1] });
    await v2(older).invoke({ total: { amount: 1, currency: "EUR" } }, config);
    const at = (await older.getTuple(config))?.config as RunnableConfig;
    await open(target, { migrations: [TO_1, TO_2] }).putWrites(at, [["note", "newer"]], "task");
    await expect(older.getTuple(config)).rejects.toMatchObject({ reason: "newer", stored: 2, supported: 1 });
  });

  it("C17: the missing step is named", async () => {
    const target = tempFile();
    await v1(open(target)).invoke({}, config);
    const saver = open(target, { migrations: [TO_2] });
    await expect(saver.getTuple(config)).rejects.toMatchObject({
      reason: "missing-step",
      step: 1,
      stored: 0,
    });
    await expect(saver.getTuple(config)).rejects.toThrow("`migrations` has no step to version 1");
    const list = async () => {
      for await (const _ of saver.list(config)) expect.unreachable();
    };
    await expect(list()).rejects.toMatchObject({ reason: "missing-step" });
  });

  it.each<[string, Partial<StateMigration>]>([
    [
      "throws",
      {
        migrate: () => {
          throw new Error("no rate");
        },
      },
    ],
    ["gives no object", { migrate: () => 5 as never }],
    ["gives a promise", { migrate: (async () => ({})) as never }],
    ["gives what cannot be stored", { migrate: () => ({ total: () => 5 }) }],
    ["writes to LangGraph's channels", { migrate: () => ({ "branch:to:close": null }) }],
    ["renames to a node that is there", { nodes: { review: "prepare" } }],
  ])("a migration that %s fails the read", async (_, part) => {
    const target = tempFile();
    await v1(open(target)).invoke({}, config);
    const ran: string[] = [];
    const graph = v2(open(target, { migrations: [{ ...TO_1, ...part }] }), ran);
    await expect(graph.invoke(null, config)).rejects.toMatchObject({ reason: "failed", step: 1 });
    expect(ran).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["C17: without step 2 of 3", [TO_1, { version: 3 }]],
    ["C17: with a step twice", [TO_1, TO_2, { version: 2 }]],
    ["that begins at 0", [{ version: 0 }]],
    ["with half of a step", [{ version: 1, migrate: TO_1.migrate }]],
    ["with an unknown field", [{ version: 1, channels: {} }]],
    ["that gives two nodes one name", [{ version: 1, nodes: { a: "c", b: "c" } }]],
    ["with a bad subgraph", [{ version: 1, subgraphs: { a: { nodes: { b: 1 } } } }]],
    ["that is no list", "v2"],
  ])("a list %s is refused at once", (_, migrations) => {
    expect(() => open(":memory:", { migrations: migrations as StateMigration[] })).toThrow(
      InvalidOptionsError,
    );
  });
});

describe("pending writes of older code", () => {
  const Old = Annotation.Root({ total: Annotation<number>, note: Annotation<string> });
  const New = Annotation.Root({ total: Annotation<Money>, note: Annotation<string> });

  /** `count` has finished, `review` waits for an answer. */
  async function paused(target: string): Promise<void> {
    await new StateGraph(Old)
      .addNode("count", () => ({ total: 7 }))
      .addNode("review", () => ({ note: `${interrupt("fine?")}` }))
      .addEdge(START, "count")
      .addEdge(START, "review")
      .compile({ checkpointer: open(target) })
      .invoke({ note: "" }, config);
  }

  function newer(saver: CompactSaver, ran: string[], approve: (answer: string) => string) {
    return new StateGraph(New)
      .addNode("count", () => {
        ran.push("count");
        return { total: { amount: 0, currency: "?" } };
      })
      .addNode("approve", () => {
        ran.push("approve");
        return { note: approve(interrupt("fine?")) };
      })
      .addEdge(START, "count")
      .addEdge(START, "approve")
      .compile({ checkpointer: saver });
  }

  it("C17: a finished sibling is not run again, its write is migrated, the pause and its answer belong to the renamed node", async () => {
    const target = tempFile();
    await paused(target);
    const ran: string[] = [];
    const graph = newer(open(target, { migrations: [TO_1] }), ran, (answer) => answer);
    const { next, tasks } = await graph.getState(config);
    expect(next).toEqual(["approve"]);
    expect(tasks.flatMap((task) => task.interrupts.map(({ value }) => [task.name, value]))).toEqual([
      ["approve", "fine?"],
    ]);
    const result = await graph.invoke(new Command({ resume: "yes" }), config);
    expect(result).toMatchObject({ total: { amount: 7, currency: "EUR" }, note: "yes" });
    expect(ran).toEqual(["approve"]);
  });

  it("C17: a supervised run takes the answer to a question that a renamed node asked", async () => {
    const target = tempFile();
    await paused(target);
    const ran: string[] = [];
    const saver = open(target, { migrations: [TO_1] });
    const graph = newer(saver, ran, (answer) => answer);
    const asked = await superviseRun(graph, null, config, { storage: saver });
    expect(asked).toMatchObject({ status: "PAUSED", interrupts: [{ value: "fine?" }] });
    expect(asked.interrupts[0]?.id).toBeUndefined();
    const done = await superviseRun(graph, new Command({ resume: "yes" }), config, { storage: saver });
    expect(done).toMatchObject({ status: "COMPLETED", state: { total: { amount: 7 }, note: "yes" } });
    expect(ran).toEqual(["approve"]);
  });

  it("a renamed node's finished write belongs to the new name", async () => {
    const target = tempFile();
    await new StateGraph(Old)
      .addNode("review", () => ({ total: 7 }))
      .addNode("wait", () => ({ note: `${interrupt("when?")}` }))
      .addEdge(START, "review")
      .addEdge(START, "wait")
      .compile({ checkpointer: open(target) })
      .invoke({ note: "" }, config);
    const ran: string[] = [];
    const graph = new StateGraph(New)
      .addNode("approve", () => {
        ran.push("approve");
        return {};
      })
      .addNode("wait", () => ({ note: `${interrupt("when?")}` }))
      .addEdge(START, "approve")
      .addEdge(START, "wait")
      .compile({ checkpointer: open(target, { migrations: [TO_1] }) });
    expect((await graph.getState(config)).next).toEqual(["wait"]);
    const result = await graph.invoke(new Command({ resume: "now" }), config);
    expect(result).toMatchObject({ total: { amount: 7, currency: "EUR" }, note: "now" });
    expect(ran).toEqual([]);
  });

  it("C17: what newer code writes beside them on the older checkpoint is not migrated again", async () => {
    const target = tempFile();
    await new StateGraph(Old)
      .addNode("count", () => ({ note: `${interrupt("how many?")}` }))
      .addNode("review", () => ({ note: `${interrupt("fine?")}` }))
      .addEdge(START, "count")
      .addEdge(START, "review")
      .compile({ checkpointer: open(target) })
      .invoke({ note: "" }, config);
    // `count` finishes under the newer code, `approve` fails, so the newer code's write stands on the older checkpoint
    const ran: string[] = [];
    const failing = newer(open(target, { migrations: [TO_1] }), ran, () => {
      throw new Error("down");
    });
    await expect(failing.invoke(new Command({ resume: "yes" }), config)).rejects.toThrow("down");
    const writes = (await open(target, { migrations: [TO_1] }).getTuple(config))?.pendingWrites ?? [];
    expect(writes.filter(([, channel]) => channel === "total").map(([, , value]) => value)).toEqual([
      { amount: 0, currency: "?" },
    ]);
    const graph = newer(open(target, { migrations: [TO_1] }), ran, (answer) => answer);
    const result = await graph.invoke(new Command({ resume: "yes" }), config);
    expect(result).toMatchObject({ total: { amount: 0, currency: "?" }, note: "yes" });
    expect(ran).toEqual(["count", "approve", "approve"]);
  });

  it("a second question of the renamed node takes the place of the first", async () => {
    const target = tempFile();
    await paused(target);
    const ask = (saver: CompactSaver) =>
      new StateGraph(New)
        .addNode("count", () => ({}))
        .addNode("approve", () => ({ note: `${interrupt("first")} ${interrupt("second")}` }))
        .addEdge(START, "count")
        .addEdge(START, "approve")
        .compile({ checkpointer: saver });
    await ask(open(target, { migrations: [TO_1] })).invoke(new Command({ resume: "a" }), config);
    const graph = ask(open(target, { migrations: [TO_1] }));
    const { tasks } = await graph.getState(config);
    expect(tasks.flatMap((task) => task.interrupts.map(({ value }) => value))).toEqual(["second"]);
    expect((await graph.invoke(new Command({ resume: "b" }), config)).note).toBe("a b");
  });

  it("the graph's input is an update too", async () => {
    const target = tempFile();
    const old = v1(open(target));
    await old.invoke({ total: 3 }, config);
    let input: RunnableConfig | undefined;
    for await (const state of old.getStateHistory(config)) input = state.config;
    const graph = v2(open(target, { migrations: [TO_1] }));
    const result = await graph.invoke(null, input as RunnableConfig);
    expect(result).toMatchObject({ total: { amount: 3, currency: "EUR" }, note: "prepared" });
  });
});

describe("names of nodes", () => {
  const Sum = Annotation.Root({
    sum: Annotation<number[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });

  it("in sends, with what they carry", async () => {
    const target = tempFile();
    const graph = (saver: CompactSaver, name: "review" | "approve", key: "n" | "count") =>
      new StateGraph(Sum)
        .addNode("split", () => ({}))
        .addNode(name, (args) => {
          const n = (args as unknown as Record<string, number>)[key];
          return { sum: [n === 2 ? interrupt("two?") : (n as number)] };
        })
        .addEdge(START, "split")
        .addConditionalEdges("split", () => [1, 2, 3].map((n) => new Send(name, { [key]: n })), [name])
        .compile({ checkpointer: saver });
    await graph(open(target), "review", "n").invoke({}, config);
    const migration: StateMigration = {
      version: 1,
      nodes: { review: "approve" },
      migrateSend: (node, args) => (node === "approve" ? { count: (args as { n: number }).n } : args),
    };
    const newer = graph(open(target, { migrations: [migration] }), "approve", "count");
    expect((await newer.getState(config)).next).toEqual(["approve"]);
    expect((await newer.invoke(new Command({ resume: 20 }), config)).sum).toEqual([1, 20, 3]);
  });

  it("in joins, at both ends", async () => {
    const target = tempFile();
    const graph = (saver: CompactSaver, a: "a" | "first", end: "end" | "last", ran: string[] = []) =>
      new StateGraph(Sum)
        .addNode(a, () => ({ sum: [1] }))
        .addNode("b", () => ({ sum: [2] }))
        .addNode("c", () => ({ sum: [interrupt("three?")] }))
        .addNode(end, () => {
          ran.push(end);
          return { sum: [9] };
        })
        .addEdge(START, a)
        .addEdge(START, "b")
        .addEdge("b", "c")
        .addEdge([a, "c"] as never, end)
        .compile({ checkpointer: saver });
    await graph(open(target), "a", "end").invoke({}, config);
    const migrations = [{ version: 1, nodes: { a: "first", end: "last" } }];
    const ran: string[] = [];
    const newer = graph(open(target, { migrations }), "first", "last", ran);
    expect((await newer.getState(config)).next).toEqual(["c"]);
    expect((await newer.invoke(new Command({ resume: 3 }), config)).sum).toEqual([1, 2, 3, 9]);
    expect(ran).toEqual(["last"]);
  });

  it("two that change places", async () => {
    const target = tempFile();
    const graph = (saver: CompactSaver, first: "x" | "y", second: "x" | "y") =>
      new StateGraph(Sum)
        .addNode(first, () => ({ sum: [1] }))
        .addNode(second, () => ({ sum: [2] }))
        .addEdge(START, first)
        .addEdge(first, second)
        .compile({ checkpointer: saver, interruptBefore: [second] });
    await graph(open(target), "x", "y").invoke({}, config);
    const migrations = [{ version: 1, nodes: { x: "y", y: "x" } }];
    const newer = graph(open(target, { migrations }), "y", "x");
    expect((await newer.getState(config)).next).toEqual(["x"]);
    expect((await newer.invoke(null, config)).sum).toEqual([1, 2]);
  });
});

describe("subgraphs", () => {
  const Outer = Annotation.Root({ total: Annotation<unknown>, note: Annotation<string> });

  function nested(saver: CompactSaver, outer: string, inner: string) {
    const child = new StateGraph(Outer)
      .addNode("count", () => ({ total: 4 }))
      .addNode(inner, ({ total }) => ({ note: `${JSON.stringify(total)} ${interrupt("fine?")}` }))
      .addEdge(START, "count")
      .addEdge("count", inner as never)
      .compile();
    return new StateGraph(Outer)
      .addNode(outer, child)
      .addEdge(START, outer as never)
      .compile({ checkpointer: saver });
  }

  it("are migrated by their path, and left alone without one", async () => {
    const target = tempFile();
    await nested(open(target), "plan", "review").invoke({ note: "" }, config);
    const root = { migrate: TO_1.migrate, migrateWrite: TO_1.migrateWrite };
    const inner = { nodes: { review: "approve" }, ...root };
    const migrations = [{ version: 1, subgraphs: { plan: inner } }];
    const graph = nested(open(target, { migrations }), "plan", "approve");
    const state = await graph.getState(config, { subgraphs: true });
    expect(state.tasks[0]?.state).toMatchObject({
      next: ["approve"],
      values: { total: { amount: 4, currency: "EUR" } },
    });
    const result = await graph.invoke(new Command({ resume: "yes" }), config);
    expect(result.note).toBe('{"amount":4,"currency":"EUR"} yes');
  });

  it("C17: a renamed node whose subgraph is at work is refused, one whose subgraph has finished is not", async () => {
    const target = tempFile();
    await nested(open(target), "plan", "review").invoke({ note: "" }, config);
    const migrations = [{ version: 1, nodes: { plan: "draft" } }];
    await expect(
      nested(open(target, { migrations }), "draft", "review").getState(config),
    ).rejects.toMatchObject({ reason: "renamed-subgraph", supported: 1 });
    await nested(open(target), "plan", "review").invoke(new Command({ resume: "yes" }), config);
    const after = nested(open(target, { migrations }), "draft", "review");
    expect((await after.getState(config)).values.note).toBe("4 yes");
    // looking back is no going on
    const notes: unknown[] = [];
    for await (const { next } of after.getStateHistory(config)) notes.push(next);
    expect(notes).toEqual([[], ["draft"], ["__start__"]]);
  });
});

describe("threads of other savers", () => {
  it("are of version 0 when they are taken over, with the integer versions they have", async () => {
    const theirs = new MemorySaver();
    await v1(theirs).invoke({}, config);
    const target = tempFile();
    const saver = open(target, { migrations: [TO_1] });
    expect(await saver.migrateFrom(theirs)).toMatchObject({ problems: [] });
    const graph = v2(saver);
    expect((await graph.getState(config)).next).toEqual(["approve"]);
    const result = await graph.invoke(null, config);
    expect(result).toMatchObject({ total: { amount: 5, currency: "EUR" }, note: "approved 5 EUR" });
    const again = v2(open(target, { migrations: [TO_1] }));
    expect((await again.getState(config)).values).toEqual(result);
  });

  it("keep their version when they are ours", async () => {
    const source = open(tempFile(), { migrations: [TO_1] });
    await v2(source).invoke({ total: { amount: 1, currency: "EUR" } }, config);
    const target = tempFile();
    const saver = open(target, { migrations: [TO_1, TO_2] });
    expect(await saver.migrateFrom(source)).toMatchObject({ problems: [] });
    const tuple = await open(target, { migrations: "as-stored" }).getTuple(config);
    expect(tuple?.metadata).toMatchObject({ longhaul_state_version: 1 });
    expect((await v2(saver).getState(config)).values.total).toEqual({ amount: 100, currency: "cent" });
  });
});

it("without migrations nothing is stamped", async () => {
  const target = tempFile();
  await v1(open(target, { migrations: [] })).invoke({}, config);
  expect((await rawOf(target)).join("\n")).not.toMatch(/longhaul_state_version|VersionedWrite/);
});

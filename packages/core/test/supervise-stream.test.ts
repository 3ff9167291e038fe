import { type AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Annotation, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { InvalidOptionsError, type StreamConfig, superviseRun, superviseStream } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { bench, httpError, thread } from "./supervised-agent.ts";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
});
const input = { messages: [new HumanMessage({ content: "go", id: "h" })] };

/** A team as a subgraph whose second node fails once, a sibling beside it, a node before and one after. */
function company(failures = 1) {
  let left = failures;
  const ran: string[] = [];
  const model = new FakeListChatModel({ responses: ["ab"] });
  const node =
    (name: string, body: (config: { writer?: (item: unknown) => void }) => unknown = () => ({})) =>
    async (_: unknown, config: { writer?: (item: unknown) => void }) => {
      ran.push(name);
      config.writer?.(name);
      return { log: [name], ...((await body(config)) as object) };
    };
  const team = new StateGraph(State)
    .addNode("one", node("one"))
    .addNode(
      "two",
      node("two", () => {
        if (left-- > 0) throw httpError(503);
        return {};
      }),
    )
    .addEdge(START, "one")
    .addEdge("one", "two")
    .compile();
  const graph = new StateGraph(State)
    .addNode(
      "prepare",
      node("prepare", async (config) => ({ messages: [await model.invoke("x", config as never)] })),
    )
    .addNode("team", team)
    .addNode("side", node("side"))
    .addNode("finish", node("finish"))
    .addEdge(START, "prepare")
    .addEdge("prepare", "team")
    .addEdge("prepare", "side")
    .addEdge(["team", "side"], "finish")
    .compile({ checkpointer: new MemorySaver() });
  return { graph, ran };
}

/** A reader that takes its time: the graph has long failed when it reads on. */
const slowly = async () => {
  for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
};

async function read(
  config: Omit<StreamConfig, "configurable">,
  failures: number,
  pace?: () => Promise<void>,
) {
  const { graph, ran } = company(failures);
  const { options } = bench();
  const stream = superviseStream(graph, input, { ...thread(), ...config }, options);
  const items: unknown[] = [];
  for (;;) {
    const step = await stream.next();
    if (step.done) return { items, result: step.value, ran };
    items.push(step.value);
    await pace?.();
  }
}

/** What LangGraph itself gives for the same graph when nothing fails. */
async function undisturbed(config: Omit<StreamConfig, "configurable">) {
  const items: unknown[] = [];
  const { graph } = company(0);
  for await (const item of await graph.stream(input, {
    ...thread(),
    ...config,
    durability: "sync",
  } as never)) {
    items.push(item);
  }
  return items;
}

/** An item without what differs from run to run: ids and times. */
const plain = (item: unknown) =>
  JSON.stringify(item, (key, value: unknown) =>
    ["id", "ts", "timestamp", "config", "parentConfig", "metadata", "checkpoint"].includes(key)
      ? undefined
      : value,
  )
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>")
    .replace(/,?"(?:resuming|attempt)":[^,}]+/g, "");

const MODES = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"] as const;

describe("superviseStream in each mode", () => {
  const all = [...MODES, ["values", "updates", "messages", "custom", "tasks", "checkpoints"] as const];
  const cells = all.flatMap((mode) => [false, true].map((subgraphs) => [mode, subgraphs] as const));

  it.each(cells)("%s, subgraphs %s: nothing is lost around a failure", async (mode, subgraphs) => {
    const config = { streamMode: mode as never, subgraphs };
    const expected = await undisturbed(config);
    const calm = await read(config, 0);
    expect(calm.items.map(plain)).toEqual(expected.map(plain));

    const failed = await read(config, 1);
    expect(failed.result).toMatchObject({ status: "COMPLETED", attempts: 2 });
    expect(failed.ran.filter((name) => name === "two")).toHaveLength(2);
    expect(failed.ran.filter((name) => name === "prepare" || name === "finish")).toHaveLength(2);
    // Each item keeps its shape, and what an undisturbed run shows is shown.
    const shapes = new Set(expected.map(shape));
    for (const item of failed.items) expect(shapes).toContain(shape(item));
    const shown = failed.items.map(plain);
    if (mode === "custom" || mode === "messages") {
      for (const item of expected.map(plain)) expect(shown).toContain(item);
    }
    expect(shown.at(-1)).toBe(plain(expected.at(-1)));

    // However slowly somebody reads, it is the same.
    const slow = await read(config, 1, slowly);
    expect(slow.items.map(plain)).toEqual(shown);
  });

  it("custom: what nodes wrote, in their order, the cut ones again", async () => {
    const { items } = await read({ streamMode: "custom", subgraphs: true }, 1, slowly);
    const names = items.map((item) => (item as [unknown, string])[1]);
    expect(names.slice(0, 1)).toEqual(["prepare"]);
    expect(names.filter((name) => name === "one")).toHaveLength(1);
    expect(names.filter((name) => name === "two")).toHaveLength(2);
    expect(names.filter((name) => name === "side")).toHaveLength(1);
    expect(names.at(-1)).toBe("finish");
  });
});

function shape(item: unknown): string {
  if (!Array.isArray(item)) return typeof item;
  return item
    .map((part: unknown) =>
      Array.isArray(part) ? "list" : MODES.includes(part as never) ? part : typeof part,
    )
    .join();
}

describe("leaving the stream", () => {
  it.each(["break", "return", "throw"] as const)(
    "by %s stops the graph and gives the lease back",
    async (how) => {
      const { graph, ran } = company(0);
      const { options } = bench();
      const stream = superviseStream(graph, input, { ...thread(), streamMode: "custom" }, options);
      if (how === "break") for await (const _ of stream) break;
      else {
        await stream.next();
        if (how === "return") await stream.return(undefined as never);
        else await expect(stream.throw(new Error("mine"))).rejects.toThrow("mine");
      }
      const seen = ran.length;
      await slowly();
      expect(ran).toHaveLength(seen);
      expect(ran).not.toContain("finish");
      expect(await options.storage.leases.holder("t")).toBeUndefined();
      expect((await options.storage.runs.current("t"))?.record).toMatchObject({
        status: "PAUSED",
        stopReason: "cancelled",
      });
      expect(await superviseRun(graph, null, thread(), options)).toMatchObject({ status: "COMPLETED" });
      expect(ran.filter((name) => name === "finish")).toHaveLength(1);
    },
  );

  it("while it waits for the next item does not wait for that item", async () => {
    const { options } = bench();
    const graph = new StateGraph(State)
      .addNode("hangs", (_, config) => {
        config.writer?.("begun");
        return new Promise<never>((_, reject) => {
          config.signal?.addEventListener("abort", () => reject(config.signal?.reason), { once: true });
        });
      })
      .addEdge(START, "hangs")
      .compile({ checkpointer: new MemorySaver() });
    const stream = superviseStream(graph, input, { ...thread(), streamMode: "custom" }, options);
    await stream.next();
    const waiting = stream.next();
    const left = stream.return(undefined as never);
    await Promise.all([waiting, left]);
    expect(await options.storage.leases.holder("t")).toBeUndefined();
  });

  it.each(["cancelled", "drained"] as const)("a signal pauses it with a result: %s", async (stopReason) => {
    const { graph } = company(0);
    const { options } = bench();
    const stop = new AbortController();
    const { signal } = stop;
    const stream = superviseStream(
      graph,
      input,
      { ...thread(), streamMode: "custom", ...(stopReason === "cancelled" && { signal }) },
      { ...options, ...(stopReason === "drained" && { signal }) },
    );
    await stream.next();
    stop.abort();
    let step = await stream.next();
    while (!step.done) step = await stream.next();
    expect(step.value).toMatchObject({ status: "PAUSED", stopReason });
    expect(await superviseRun(graph, null, thread(), options)).toMatchObject({ status: "COMPLETED" });
  });

  it("behind the last step it is done, not paused", async () => {
    const { graph } = company(0);
    const { options } = bench();
    for await (const item of superviseStream(graph, input, { ...thread(), streamMode: "updates" }, options))
      if ("finish" in (item as object)) break;
    const record = (await options.storage.runs.current("t"))?.record;
    const done = (await graph.getState(thread())).next.length === 0;
    expect(record?.status).toBe(done ? "COMPLETED" : "PAUSED");
  });
});

it("refuses an encoded stream, in which errors would be text", async () => {
  const { graph } = company(0);
  const stream = superviseStream(
    graph,
    input,
    { ...thread(), encoding: "text/event-stream" } as never,
    bench().options,
  );
  const error = await stream.next().catch((thrown: unknown) => thrown);
  expect(InvalidOptionsError.isInstance(error)).toBe(true);
});

it("the final message of a model reaches the stream of messages once per attempt that made it", async () => {
  const { items } = await read({ streamMode: "messages" }, 1);
  const text = items.map((item) => (item as [AIMessage, unknown])[0].content).join("");
  expect(text).toBe("ab");
});

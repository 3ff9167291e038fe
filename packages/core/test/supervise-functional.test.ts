import { tool } from "@langchain/core/tools";
import { Command, entrypoint, getPreviousState, interrupt, MemorySaver, task } from "@langchain/langgraph";
import {
  FatalTaskError,
  guardTools,
  type SuperviseOptions,
  superviseRun,
  superviseStream,
} from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { bench, httpError, thread } from "./supervised-agent.ts";

/** A workflow of two parallel tasks and one behind them, which fails as often as told. */
function workflow(failures: readonly Error[] = []) {
  const log: string[] = [];
  const left = [...failures];
  const half = task("half", async (n: number) => {
    log.push(`half ${n}`);
    return n / 2;
  });
  const join = task("join", async (a: number, b: number) => {
    log.push(`join ${a} ${b}`);
    const error = left.shift();
    if (error) throw error;
    return a + b;
  });
  const flow = entrypoint({ name: "flow", checkpointer: new MemorySaver() }, async (n: number) => {
    log.push("body");
    const [a, b] = await Promise.all([half(n), half(n + 2)]);
    return { sum: await join(a, b) };
  });
  return { flow, log };
}

describe("a workflow of the functional API", () => {
  it("D1: goes on behind a failed task without running the finished ones again", async () => {
    const { options, events, waits } = bench();
    const { flow, log } = workflow([httpError(503), httpError(503)]);
    const result = await superviseRun(flow, 4, thread(), options);
    expect(result).toMatchObject({ status: "COMPLETED", attempts: 3, state: { sum: 5 } });
    expect(log).toEqual([
      "body",
      "half 4",
      "half 6",
      ...["join 2 3", "body", "join 2 3", "body", "join 2 3"],
    ]);
    expect(waits).toHaveLength(2);
    expect(events.filter(({ type }) => type === "recovery.resuming")).toHaveLength(2);
  });

  it("ends at a fatal error, and gives the same end for the same input until it is reopened", async () => {
    const { options } = bench();
    const { flow, log } = workflow([new FatalTaskError("no such account")]);
    const failed = await superviseRun(flow, 4, thread(), options);
    expect(failed).toMatchObject({ status: "FAILED", stopReason: "fatal_error", attempts: 1 });
    expect(failed.state).toBeNull();
    expect(await superviseRun(flow, 4, thread(), options)).toMatchObject({ status: "FAILED" });
    expect(log).toHaveLength(4);
    const reopened = await superviseRun(flow, null, thread(), { ...options, reopen: true });
    expect(reopened).toMatchObject({ status: "COMPLETED", state: { sum: 5 } });
    expect(log.filter((line) => line.startsWith("half"))).toHaveLength(2);
  });

  it.each([
    ["text", "done"],
    ["an array", [1, { a: 2 }]],
    ["null", null],
    ["nothing", undefined],
    ["a number", 7],
    ["false", false],
  ])("gives back %s, once and when asked again", async (_name, value) => {
    const { options } = bench();
    const flow = entrypoint({ name: "f", checkpointer: new MemorySaver() }, async (_: string) => value);
    const result = await superviseRun(flow as never, "go", thread(), options);
    expect(result.status).toBe("COMPLETED");
    expect(result.state).toEqual(value ?? null);
    expect((await superviseRun(flow as never, null, thread(), options)).state).toEqual(value ?? null);
  });

  it("starts a new run with what the last one saved", async () => {
    const { options } = bench();
    const flow = entrypoint({ name: "f", checkpointer: new MemorySaver() }, async (n: number) =>
      entrypoint.final({ value: `got ${n}`, save: (getPreviousState<number>() ?? 0) + n }),
    );
    const plain = { ...thread() };
    expect((await superviseRun(flow as never, 1, plain, options)).state).toBe("got 1");
    expect((await superviseRun(flow as never, 2, plain, options)).state).toBe("got 2");
    const total = entrypoint(
      { name: "f", checkpointer: flow.checkpointer as MemorySaver },
      async (_: number) => getPreviousState<number>(),
    );
    expect((await superviseRun(total as never, 9, plain, options)).state).toBe(3);
  });

  it("pauses at a question in a task and goes on with the answer; finished tasks stay finished", async () => {
    const { options } = bench();
    const log: string[] = [];
    const draft = task("draft", async (topic: string) => {
      log.push("draft");
      return `on ${topic}`;
    });
    const approve = task("approve", async (text: string) => {
      const said = interrupt({ text }) as string;
      log.push(`approved ${said}`);
      return said;
    });
    const flow = entrypoint({ name: "f", checkpointer: new MemorySaver() }, async (topic: string) => {
      const text = await draft(topic);
      return `${text}: ${await approve(text)}`;
    });
    const asked = await superviseRun(flow as never, "ships", thread(), options);
    expect(asked).toMatchObject({ status: "PAUSED", interrupts: [{ value: { text: "on ships" } }] });
    expect(await superviseRun(flow as never, "ships", thread(), options)).toMatchObject({ status: "PAUSED" });
    const done = await superviseRun(flow as never, new Command({ resume: "yes" }), thread(), options);
    expect(done).toMatchObject({ status: "COMPLETED", state: "on ships: yes" });
    expect(log).toEqual(["draft", "approved yes"]);
  });

  it("D4: an effect of a task that fails afterwards is done once", async () => {
    const { options } = bench();
    const world: string[] = [];
    const [charge] = guardTools(
      [
        tool(({ order }) => world.push(order) && `charged ${order}`, {
          name: "charge",
          description: "x",
          schema: z.object({ order: z.string() }),
        }),
      ] as const,
      {
        storage: options.storage as NonNullable<SuperviseOptions["storage"]>,
        tools: { charge: { effect: "record" } },
      },
    );
    const errors = [httpError(503), httpError(503)];
    const pay = task("pay", async (order: string) => {
      const answers = [await charge.invoke({ order }), await charge.invoke({ order: `${order}b` })];
      const error = errors.shift();
      if (error) throw error;
      return answers.map(String);
    });
    const flow = entrypoint({ name: "f", checkpointer: new MemorySaver() }, async (orders: string[]) => {
      // equal calls of two tasks are two wishes
      const paid = await Promise.all([...orders.map((order) => pay(order)), pay(orders[0] as string)]);
      // and so is one of the body
      return [...paid.flat(), String(await charge.invoke({ order: "body" }))];
    });
    const result = await superviseRun(flow as never, ["a", "c"], thread(), options);
    expect(result).toMatchObject({ status: "COMPLETED" });
    expect(world.toSorted()).toEqual(["a", "a", "ab", "ab", "body", "c", "cb"]);
  });

  it("is given up when its failures pass the caps", async () => {
    const { options, waits } = bench();
    const { flow } = workflow(Array.from({ length: 50 }, () => httpError(503)));
    const result = await superviseRun(flow, 4, thread(), options);
    expect(result).toMatchObject({ status: "NEEDS_HUMAN", stopReason: "recovery_limit" });
    expect(result.lastFailure?.where).toEqual(["flow"]);
    expect(waits.length).toBeLessThan(20);
  });

  const MODES = ["updates", "values", "tasks", "checkpoints", "debug", "custom"] as const;
  it.each(MODES)("streams %s over a failure", async (mode) => {
    const { options } = bench();
    const undisturbed: unknown[] = [];
    for await (const item of superviseStream(
      workflow().flow,
      4,
      { ...thread(), streamMode: mode },
      bench().options,
    ))
      undisturbed.push(item);
    const { flow } = workflow([httpError(503)]);
    const stream = superviseStream(flow, 4, { ...thread(), streamMode: mode }, options);
    const items: unknown[] = [];
    let end = await stream.next();
    for (; !end.done; end = await stream.next()) items.push(end.value);
    expect(end.value).toMatchObject({ status: "COMPLETED", attempts: 2, state: { sum: 5 } });
    expect(items.length).toBeGreaterThanOrEqual(undisturbed.length);
    if (mode === "updates")
      expect(items.filter((item) => !JSON.stringify(item).includes("cached"))).toEqual(undisturbed);
    if (mode === "values") expect(items.at(-1)).toEqual({ sum: 5 });
  });
});

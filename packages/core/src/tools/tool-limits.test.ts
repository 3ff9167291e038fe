import { tool } from "@langchain/core/tools";
import { GraphInterrupt } from "@langchain/langgraph";
import { fakeClock } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { InvalidOptionsError } from "../errors.ts";
import type { LonghaulEvent } from "../events/event.ts";
import { type GuardToolsOptions, guardTools } from "./guard-tools.ts";
import { ToolTimeoutError } from "./tool-errors.ts";
import { isTransient, retryAfterMs } from "./transient-error.ts";

type Body = (n: number, signal: AbortSignal | undefined) => unknown;

function guarded(body: Body, options: GuardToolsOptions = {}, name = "work") {
  const clock = fakeClock();
  const events: LonghaulEvent[] = [];
  let calls = 0;
  const raw = tool((_args, config) => body(++calls, config.signal), {
    name,
    description: "x",
    schema: z.object({ n: z.number().optional() }),
  });
  const [work] = guardTools([raw], {
    deps: { clock, random: () => 0.5 },
    events: (event) => events.push(event),
    effects: false,
    ...options,
  });
  return { clock, events, work, calls: () => calls };
}

const never = () => new Promise<never>(() => {});
const unavailable = (fields: object = {}) =>
  Object.assign(new Error("try later"), { status: 503, ...fields });

describe("tool limits", () => {
  it("ends a call at its time-out, and the tool hears of it", async () => {
    let heard: AbortSignal | undefined;
    const { work, clock, events } = guarded((_n, signal) => {
      heard = signal;
      return never();
    });
    const outcome = work.invoke({}).catch((error: unknown) => error);
    await clock.advance(59_999);
    expect(heard?.aborted).toBe(false);
    await clock.advance(1);
    expect(await outcome).toSatisfy(ToolTimeoutError.isInstance);
    expect(heard?.aborted).toBe(true);
    expect(events.map(({ type }) => type)).toEqual(["tool.timed-out", "tool.finished"]);
  });

  it("a tool that ignores the signal is left behind; D6: under the ledger its outcome is unknown", async () => {
    const clock = fakeClock();
    const stubborn = { name: "stubborn", description: "", schema: z.object({}), invoke: never };
    const [tool] = guardTools([stubborn], { deps: { clock }, limits: { timeoutMs: 100 } });
    const call = { id: "1", name: "stubborn", args: {}, type: "tool_call" };
    const result = (tool.invoke as (input: unknown) => Promise<{ content: string }>)(call);
    await clock.advance(100);
    expect((await result).content).toContain("unknown");
  });

  it("does not time out tools that call agents, unless told to", async () => {
    const { work, clock } = guarded(never, {}, "task");
    let ended = false;
    void work.invoke({}).finally(() => {
      ended = true;
    });
    await clock.advance(24 * 3_600_000);
    expect(ended).toBe(false);
  });

  it("retries what is worth it, with growing pauses, and only where that is safe", async () => {
    const twice: Body = (n) => {
      if (n < 3) throw unavailable();
      return "ok";
    };
    const read = guarded(twice, { tools: { work: { effect: "none" } } });
    const result = read.work.invoke({});
    await read.clock.advance(10_000);
    expect(await result).toBe("ok");
    expect(read.clock.slept.filter((ms) => ms !== 60_000)).toEqual([1_000, 2_000]);
    expect(read.events.filter(({ type }) => type === "tool.retried")).toHaveLength(2);

    const record = guarded(twice, { tools: { work: { effect: "record" } } });
    await expect(record.work.invoke({})).rejects.toThrow("try later");
    expect(record.calls()).toBe(1);

    const hopeless = guarded(
      () => {
        throw Object.assign(new Error("no"), { status: 404 });
      },
      { tools: { work: { effect: "none" } } },
    );
    await expect(hopeless.work.invoke({})).rejects.toThrow("no");
    expect(hopeless.calls()).toBe(1);
  });

  it("does not take an interrupt for an error, whatever it says", async () => {
    const { work, calls } = guarded(
      () => {
        throw new GraphInterrupt([{ value: "request timed out, go on?" }]);
      },
      { tools: { work: { effect: "none" } } },
    );
    await expect(work.invoke({})).rejects.toThrow(GraphInterrupt);
    expect(calls()).toBe(1);
  });

  it("obeys Retry-After, and leaves a long one to the model", async () => {
    const asked =
      (seconds: string): Body =>
      (n) => {
        if (n === 1) throw unavailable({ status: 429, headers: { "retry-after": seconds } });
        return "ok";
      };
    const tools = { work: { effect: "none" } } as const;
    const soon = guarded(asked("7"), { tools });
    const result = soon.work.invoke({});
    await soon.clock.advance(7_000);
    expect(await result).toBe("ok");
    await expect(guarded(asked("3600"), { tools }).work.invoke({})).rejects.toThrow("try later");
  });

  it("runs four at once, the rest in order; agents and calls from inside take no slot", async () => {
    let running = 0;
    let most = 0;
    const { work, clock } = guarded(async () => {
      most = Math.max(most, ++running);
      await clock.sleep(10);
      running--;
      return "ok";
    });
    const all = Promise.all(Array.from({ length: 10 }, () => work.invoke({})));
    await clock.advance(100);
    await all;
    expect(most).toBe(4);

    const deep = { tool: undefined as typeof work | undefined };
    const [outer, inner] = guardTools(
      [
        tool(() => deep.tool?.invoke({}), { name: "outer", description: "x", schema: z.object({}) }),
        tool(() => "inner", { name: "inner", description: "x", schema: z.object({}) }),
      ] as const,
      { limits: { concurrency: 1 }, effects: false },
    );
    deep.tool = inner as never;
    expect(await outer.invoke({})).toBe("inner");
  });

  it("a cancelled call leaves the queue", async () => {
    const controller = new AbortController();
    const { work, clock, calls } = guarded(never, { limits: { concurrency: 1, timeoutMs: 500 } });
    const first = work.invoke({}).catch((error: unknown) => error);
    const queued = work.invoke({}, { signal: controller.signal }).catch((error: unknown) => error);
    await clock.advance(1);
    controller.abort(new Error("enough"));
    expect(await queued).toMatchObject({ message: "enough" });
    await clock.advance(500);
    await first;
    expect(calls()).toBe(1);
  });

  it("refuses options that cannot work", () => {
    for (const limits of [{ timeoutMs: 0 }, { retries: -1 }, { concurrency: 0 }, { backoffMs: Number.NaN }])
      expect(() => guardTools([], { limits })).toThrow(InvalidOptionsError);
    for (const effects of [{ leaseMs: 10 }, { leaseMs: 1_000, heartbeatMs: 900 }, { waitMs: -1 }])
      expect(() => guardTools([], { effects })).toThrow(InvalidOptionsError);
  });
});

describe("transient errors", () => {
  it("reads Retry-After as seconds, date or milliseconds, wherever clients put it", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(retryAfterMs({ headers: new Headers({ "Retry-After": "2" }) }, now)).toBe(2_000);
    expect(
      retryAfterMs({ response: { headers: { "retry-after": "Thu, 01 Jan 2026 00:00:05 GMT" } } }, now),
    ).toBe(5_000);
    expect(retryAfterMs({ retryAfterMs: 30 }, now)).toBe(30);
    expect(retryAfterMs({ headers: { "retry-after": "soon" } }, now)).toBeUndefined();
  });

  it("is about errors that pass", () => {
    const withCode = (code: string) => Object.assign(new Error("x"), { code });
    for (const error of [
      withCode("ECONNREFUSED"),
      withCode("ECONNRESET"),
      unavailable(),
      unavailable({ status: 429 }),
    ])
      expect(isTransient(error)).toBe(true);
    for (const error of [
      new Error("limit exceeded"),
      unavailable({ status: 401 }),
      withCode("ERR_INVALID_URL"),
      "x",
    ])
      expect(isTransient(error)).toBe(false);
  });
});

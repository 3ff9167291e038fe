import { AIMessage, type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { GraphInterrupt } from "@langchain/langgraph";
import { countingIds, fakeClock } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import type { LonghaulEvent } from "../events/event.ts";
import { memoryStorage } from "../storage/memory-storage.ts";
import { type GuardToolsOptions, guardTools } from "../tools/guard-tools.ts";
import type { ToolOptions } from "../tools/tool-options.ts";
import { currentEffect } from "./current-effect.ts";
import { EffectConflictError, NoCurrentEffectError } from "./effect-errors.ts";
import { REPLAYED_FIELD, UNSETTLED_FIELD } from "./effect-messages.ts";
import { resolveEffect } from "./resolve-effect.ts";

type Body = (args: { to: string; ref?: string | undefined }, config: object) => unknown;

/** A tool `send` under guard, called as a graph would: from the history of a thread. */
function world(
  body: Body,
  options: ToolOptions = { effect: "record" },
  more: Partial<GuardToolsOptions> = {},
) {
  const clock = fakeClock();
  const deps = { clock, newId: countingIds(), random: () => 0.5 };
  const storage = memoryStorage(deps);
  const events: LonghaulEvent[] = [];
  const raw = tool(async (args, config) => body(args, config), {
    name: "send",
    description: "Sends",
    schema: z.object({ to: z.string(), ref: z.string().optional() }),
  });
  const guard = (tools: ToolOptions) =>
    guardTools([raw], {
      storage,
      deps,
      tools: { send: tools },
      limits: false,
      events: (event) => events.push(event),
      ...more,
    })[0];
  const send = guard(options);
  const messages: BaseMessage[] = [new HumanMessage("go")];
  let n = 0;
  const config = (fields: object = {}) => ({
    configurable: { thread_id: "t" },
    executionInfo: { threadId: "t", checkpointNs: "tools:1", taskId: "task-1", nodeAttempt: 1 },
    state: { messages },
    ...fields,
  });
  return {
    clock,
    storage,
    events,
    messages,
    send,
    guard,
    config,
    types: () => events.map(({ type }) => type).filter((type) => type.startsWith("effect.")),
    /** The model asks; returns how to run the call, as often as crashes and retries want. */
    ask(args: object = { to: "a" }) {
      const call = {
        id: `call_${++n}`,
        name: "send",
        args: args as Record<string, unknown>,
        type: "tool_call" as const,
      };
      messages.push(new AIMessage({ id: `m${n}`, content: "", tool_calls: [call] }));
      return {
        call,
        run: (fields?: object, target = send) => target.invoke(call, config(fields)) as Promise<ToolMessage>,
      };
    },
    answer: (message: ToolMessage) => void messages.push(message),
  };
}

const timeout = () => Object.assign(new Error("timed out"), { name: "TimeoutError" });

describe("a guarded tool", () => {
  it("answers as the tool does, and keeps its name, schema and bare invocation", async () => {
    const { send, ask, types } = world(({ to }) => `sent to ${to}`);
    expect(send).toMatchObject({ name: "send", description: "Sends", returnDirect: false });
    const message = await ask().run();
    expect(message).toMatchObject({
      content: "sent to a",
      status: "success",
      tool_call_id: "call_1",
      name: "send",
    });
    expect(await send.invoke({ to: "b" })).toBe("sent to b");
    expect(types()).toContain("effect.committed");
    await expect(send.invoke({ nope: 1 } as never)).rejects.toThrow("did not match expected schema");
  });

  it("D1, D7 (v): run again it replays the stored result, visibly, under the id of the new call", async () => {
    let effects = 0;
    const { ask, messages, clock, types } = world(() => `charge ${++effects}`);
    await ask().run();
    messages.pop();
    await clock.advance(180_000);
    const again = await ask().run();
    expect(effects).toBe(1);
    expect(again.tool_call_id).toBe("call_2");
    expect(again.content).toContain("charge 1");
    expect(again.content).toContain("[Stored result of 3 min ago");
    expect(again.additional_kwargs[REPLAYED_FIELD]).toMatchObject({ ageMs: 180_000 });
    expect(types()).toContain("effect.replayed");
  });

  it("D2: wanted repetition runs: answered before, in the next turn; reads always", async () => {
    let effects = 0;
    const { ask, answer, messages } = world(() => `${++effects}`);
    answer(await ask().run());
    answer(await ask().run());
    messages.push(new HumanMessage("once more"));
    await ask().run();
    expect(effects).toBe(3);
    let reads = 0;
    const reader = world(() => `${++reads}`, { effect: "none" });
    const price = reader.ask();
    await price.run();
    expect((await price.run()).content).toBe("2");
    expect(reader.types()).toEqual([]);
  });

  it("D4: a caller's own key with other arguments is a conflict; the same ones replay", async () => {
    let effects = 0;
    const { send } = world(() => `${++effects}`, { effect: "record", keyOf: () => "K" });
    const config = { configurable: { thread_id: "t" } };
    await send.invoke({ to: "a" }, config);
    await expect(send.invoke({ to: "b" }, config)).rejects.toThrow(EffectConflictError);
    expect(await send.invoke({ to: "a" }, config)).toBe("1");
    expect(effects).toBe(1);
  });

  it.each([
    ["a time-out", timeout()],
    ["a reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })],
    ["a 504", Object.assign(new Error("gateway"), { status: 504 })],
  ])(
    "D6: after %s nobody knows: told, not run again, the same for equal calls until settled",
    async (_name, error) => {
      let effects = 0;
      const { ask, answer, messages, storage } = world(() => {
        effects++;
        throw error;
      });
      const first = ask();
      const told = await first.run();
      expect(told).toMatchObject({ status: "error", tool_call_id: "call_1" });
      expect(told.content).toContain("unknown");
      const { key } = told.additional_kwargs[UNSETTLED_FIELD] as { key: string };
      expect((await first.run()).content).toContain("unknown");
      answer(told);
      messages.push(new HumanMessage("try again"));
      expect((await ask().run()).content).toContain(key);
      expect(effects).toBe(1);
      await resolveEffect(storage, key, "absent");
      await ask().run();
      expect(effects).toBe(2);
    },
  );

  it("D6: settled as done, the call that asks again in its turn gets that result", async () => {
    const { ask, answer, storage } = world(() => {
      throw timeout();
    });
    const told = await ask().run();
    answer(told);
    await resolveEffect(
      storage,
      (told.additional_kwargs[UNSETTLED_FIELD] as { key: string }).key,
      "done",
      "mail 9",
    );
    expect((await ask().run()).content).toContain("mail 9");
  });

  it("D6: a cancelled run leaves the outcome unknown and rethrows", async () => {
    const controller = new AbortController();
    const { ask } = world(() => {
      controller.abort();
      throw new Error("Aborted");
    });
    const call = ask();
    await expect(call.run({ signal: controller.signal })).rejects.toThrow(/abort/i);
    expect((await call.run()).content).toContain("unknown");
  });

  it.each([
    ["found", { outcome: "done", result: "mail 4" } as const, 1, "mail 4"],
    ["surely absent", { outcome: "absent" } as const, 2, "sent 2"],
    ["not known either", { outcome: "unknown" } as const, 1, "unknown"],
  ])("D6: the reconcile hook decides: %s", async (_name, said, effects, text) => {
    let count = 0;
    const { ask } = world(
      () => {
        if (++count === 1) throw timeout();
        return `sent ${count}`;
      },
      { effect: "query", check: () => said },
    );
    const call = ask();
    await call.run().catch(() => undefined);
    expect((await call.run()).content).toContain(text);
    expect(count).toBe(effects);
  });

  it("D6: a check that throws leaves the outcome unknown", async () => {
    const { ask, types } = world(
      () => {
        throw timeout();
      },
      {
        effect: "query",
        check: () => {
          throw new Error("lookup is down");
        },
      },
    );
    expect((await ask().run()).content).toContain("unknown");
    expect(types()).toContain("effect.degraded");
  });

  it("D6: a tool that passes the key on runs again with the same key; so does onUnknown retry", async () => {
    for (const options of [
      { effect: "key", injectKey: "ref" },
      { effect: "record", injectKey: "ref", onUnknown: "retry" },
    ] as const) {
      const refs: (string | undefined)[] = [];
      const { ask, answer, messages } = world(({ ref }) => {
        refs.push(ref);
        if (refs.length === 1) throw timeout();
        return "ok";
      }, options);
      answer(await ask().run());
      messages.push(new HumanMessage("try again"));
      expect((await ask().run()).content).toBe("ok");
      expect(refs[0]).toMatch(/^lh-/);
      expect(refs[1]).toBe(refs[0]);
    }
  });

  it("D7 (i)-(ii): what surely did not happen may run again, and the error is the tool's own", async () => {
    let attempts = 0;
    const { ask, messages } = world(() => {
      if (++attempts === 1) throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
      return "up again";
    });
    const call = ask();
    await expect(call.run()).rejects.toThrow("connect");
    expect((await call.run()).content).toBe("up again");
    messages.pop();
    const wrong = ask({ to: 5 });
    await expect(wrong.run()).rejects.toThrow("did not match expected schema");
    await expect(wrong.run()).rejects.toThrow("did not match expected schema");
  });

  it("D7 (iv): a refusal is the result: thrown once, replayed visibly; by policy it may run again", async () => {
    let asked = 0;
    const body = () => {
      asked++;
      throw new Error("limit exceeded");
    };
    const { ask } = world(body);
    const call = ask();
    await expect(call.run()).rejects.toThrow("limit exceeded");
    const replayed = await call.run();
    expect(replayed).toMatchObject({ status: "error" });
    expect(replayed.content).toContain("limit exceeded");
    expect(replayed.content).toContain("Stored result");
    expect(asked).toBe(1);
    const lenient = world(body, { effect: "record", outcomeOf: () => "not-done" }).ask();
    await lenient.run().catch(() => undefined);
    await lenient.run().catch(() => undefined);
    expect(asked).toBe(3);
  });

  it("D10: arguments without a canonical form are neither de-duplicated nor blocked, and an event says so", async () => {
    let effects = 0;
    const { ask, types } = world(() => `${++effects}`);
    const args: Record<string, unknown> = { to: "a" };
    args.self = args;
    const call = ask(args);
    await call.run();
    expect((await call.run()).content).toBe("2");
    expect(types()).toContain("effect.unguarded");
  });

  it("D10: tenants never share, whatever they call their threads", async () => {
    let effects = 0;
    const { ask } = world(
      () => `${++effects}`,
      { effect: "record" },
      {
        effects: { scope: (config) => config.configurable?.tenant as string },
      },
    );
    const call = ask();
    for (const tenant of ["A", "B", "A"]) await call.run({ configurable: { thread_id: "t", tenant } });
    expect(effects).toBe(2);
  });

  it("a thread that was deleted and begun anew has keys of its own", async () => {
    const keys: string[] = [];
    const { ask, storage } = world((_args, config) => keys.push(currentEffect(config).key));
    const call = ask();
    await call.run();
    await storage.records.compareAndSet({ collection: "generations", thread: "", key: "t" }, null, {
      v: 1,
      generation: 1,
    });
    await call.run();
    expect(new Set(keys).size).toBe(2);
  });

  it("an interrupt suspends the claim: the tool runs from its top again, as the same attempt", async () => {
    const attempts: number[] = [];
    const { ask, types } = world((_args, config) => {
      attempts.push(currentEffect(config).attempt);
      if (attempts.length === 1) throw new GraphInterrupt([{ value: "sure?" }]);
      return "sent";
    });
    const call = ask();
    await expect(call.run()).rejects.toThrow(GraphInterrupt);
    expect((await call.run()).content).toBe("sent");
    expect(attempts).toEqual([1, 1]);
    expect(types()).toContain("effect.suspended");
  });

  it("a long tool finds its own cursor again", async () => {
    const seen: unknown[] = [];
    const { ask } = world(
      async (_args, config) => {
        const effect = currentEffect(config);
        seen.push(effect.progress);
        await effect.saveProgress({ page: seen.length });
        if (seen.length === 1) throw timeout();
        return "done";
      },
      { effect: "record", onUnknown: "retry" },
    );
    const call = ask();
    await call.run();
    await call.run();
    expect(seen).toEqual([undefined, { page: 1 }]);
  });

  it("currentEffect: only in a guarded body, and never the key of the tool around", async () => {
    expect(() => currentEffect()).toThrow(NoCurrentEffectError);
    const inner = tool((_args, config) => currentEffect(config).key, {
      name: "inner",
      description: "x",
      schema: z.object({}),
    });
    const { ask } = world(() => inner.invoke({ id: "call_99", name: "inner", args: {}, type: "tool_call" }));
    await expect(ask().run()).rejects.toThrow(NoCurrentEffectError);
  });

  it("C5: a tool called inside a tool has its own effects, once each, however often the outer one runs", async () => {
    let charges = 0;
    const holder: { charge?: ReturnType<typeof world>["send"] } = {};
    let runs = 0;
    const outer = world(
      async (_args, config) => {
        await holder.charge?.invoke({ to: "x" }, config);
        await holder.charge?.invoke({ to: "x" }, config);
        if (++runs === 1) throw timeout();
        return "done";
      },
      { effect: "key" },
    );
    const charge = tool(() => `${++charges}`, {
      name: "charge",
      description: "x",
      schema: z.object({ to: z.string() }),
    });
    holder.charge = guardTools([charge], {
      storage: outer.storage,
      tools: { charge: { effect: "record" } },
    })[0] as never;
    const call = outer.ask();
    await call.run();
    await call.run();
    expect(runs).toBe(2);
    expect(charges).toBe(2);
  });

  it("the record has what was proposed and what was run; a result is stored once with artifact", async () => {
    const { ask, storage, send, config } = world(() => "ok");
    const { call } = ask({ to: "a" });
    await send.invoke({ ...call, args: { to: "edited" } }, config());
    const records = [];
    for await (const entry of storage.effects.list("t")) records.push(entry.record);
    expect(records).toMatchObject([
      { args: { to: "edited" }, proposed: { to: "a" }, state: "committed", attempt: 1 },
    ]);
  });

  it("says when nobody declared a tool, and that memory does not survive the process, once", async () => {
    const { ask, answer, types } = world(() => "ok", {});
    answer(await ask().run());
    answer(await ask().run());
    expect(types().filter((type) => type === "effect.undeclared")).toHaveLength(1);
    expect(types().filter((type) => type === "effect.degraded")).toHaveLength(1);
  });

  it("a ledger that fails after the effect does not turn it into an error; one that fails before keeps it from running", async () => {
    let effects = 0;
    const { ask, storage, types, clock } = world(() => `${++effects}`);
    const broken = { compareAndSet: storage.records.compareAndSet.bind(storage.records) };
    storage.records.compareAndSet = async (key, expected, value, options) => {
      if ((value as { state?: string }).state === "committed") throw new Error("disk full");
      return broken.compareAndSet(key, expected, value, options);
    };
    const done = ask().run();
    await clock.advance(1_000);
    expect((await done).content).toBe("1");
    expect(types()).toContain("effect.degraded");
    storage.records.compareAndSet = () => Promise.reject(new Error("disk full"));
    await expect(ask({ to: "b" }).run()).rejects.toMatchObject({ code: "EFFECT_LEDGER" });
    expect(effects).toBe(1);
  });
});

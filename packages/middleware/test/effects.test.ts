import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import {
  BypassedGuardError,
  guardTools,
  type LonghaulEvent,
  memoryStorage,
  resolveEffect,
  type ToolOptionsMap,
} from "@longhaul/core";
import { callTools, type Reply, type Script, StrictChatModel } from "@longhaul/test-kit";
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  modelFallbackMiddleware,
  toolRetryMiddleware,
} from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { assertOrder, GuardOrderError, idempotencyMiddleware, toolGuardMiddleware } from "../src/index.ts";

const schema = z.object({ order: z.string() });
const config = { configurable: { thread_id: "t" } };
const ask = (content: string) => ({ messages: [{ role: "user" as const, content }] });
const charge = (body: (order: string) => unknown, name = "charge") =>
  tool(({ order }) => body(order), { name, description: "x", schema });
const timeout = () => Object.assign(new Error("timed out"), { name: "TimeoutError" });
const results = (messages: readonly BaseMessage[]) =>
  messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));

/** Order O-7 is asked for, and then the answer is text. */
const once: readonly (Reply | Script)[] = [callTools(["charge", { order: "O-7" }]), "done"];

function setup(tools: ToolOptionsMap = { charge: { effect: "record" } }) {
  const storage = memoryStorage();
  const events: LonghaulEvent[] = [];
  const common = { storage, tools, events: (event: LonghaulEvent) => void events.push(event) };
  return {
    storage,
    events,
    guard: idempotencyMiddleware(common),
    limits: toolGuardMiddleware({ ...common, backoffMs: 1 }),
  };
}

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length < 2) return [[...list]];
  return list.flatMap((item, i) =>
    permutations(list.filter((_, j) => j !== i)).map((rest) => [item, ...rest]),
  );
}

describe("the effect guard in an agent", () => {
  const names = ["guard", "limits", "toolRetry", "modelFallback"] as const;
  it.each(permutations(names).map((order) => [order]))("D11: one effect in the order %j", async (order) => {
    const { guard, limits, storage } = setup();
    let effects = 0;
    const retrying = {
      guard,
      limits,
      toolRetry: toolRetryMiddleware({ maxRetries: 3, initialDelayMs: 0, jitter: false }),
      modelFallback: modelFallbackMiddleware(new StrictChatModel({ script: () => "fallback" })),
    };
    const agent = createAgent({
      model: new StrictChatModel({
        script: [
          ...once,
          callTools(["charge", { order: "O-7" }]),
          "told again",
          callTools(["charge", { order: "O-7" }]),
          "x",
        ],
      }),
      tools: [
        charge(() => {
          if (++effects === 1) throw timeout();
          return "charged";
        }),
      ],
      middleware: order.map((name) => retrying[name]) as AgentMiddleware[],
      checkpointer: new MemorySaver(),
    });
    const first = await agent.invoke(ask("charge it"), config);
    expect(effects).toBe(1);
    expect(results(first.messages).at(-1)?.content).toContain("unknown");
    const second = await agent.invoke(ask("try again"), config);
    expect(effects).toBe(1);
    const key = /lh-\S+/.exec(results(second.messages).at(-1)?.content as string)?.[0] as string;
    await resolveEffect(storage, key, "absent");
    await agent.invoke(ask("try again, it did not arrive"), config);
    expect(effects).toBe(2);
  });

  it.each(permutations(names).map((order) => [order]))(
    "D11: one effect when another model takes over after it, in the order %j",
    async (order) => {
      const { guard, limits } = setup();
      let effects = 0;
      let takenOver = 0;
      const layers = {
        guard,
        limits,
        toolRetry: toolRetryMiddleware({ maxRetries: 3, initialDelayMs: 0, jitter: false }),
        modelFallback: modelFallbackMiddleware(
          new StrictChatModel({
            script: () =>
              ++takenOver === 1
                ? { toolCalls: [{ name: "charge", args: { order: "O-7" }, id: "other-model-1" }] }
                : "verified by hand",
          }),
        ),
      };
      const agent = createAgent({
        model: new StrictChatModel({
          script: (request) => {
            if (request.messages.some(({ role }) => role === "tool"))
              throw new Error("the first model is down");
            return callTools(["charge", { order: "O-7" }]);
          },
        }),
        tools: [
          charge(() => {
            effects++;
            throw timeout();
          }),
        ],
        middleware: order.map((name) => layers[name]) as AgentMiddleware[],
        checkpointer: new MemorySaver(),
      });
      const { messages } = await agent.invoke(ask("charge it"), config);
      expect(effects).toBe(1);
      expect(takenOver).toBe(2);
      expect(results(messages).map(({ content }) => /unknown/.test(String(content)))).toEqual([true, true]);
      expect(messages.at(-1)?.content).toBe("verified by hand");
    },
  );

  it("D11: a plain failure after the effect is not repeated by a retry layer either", async () => {
    for (const order of permutations(["guard", "toolRetry"] as const)) {
      const { guard } = setup();
      let effects = 0;
      const layers = {
        guard,
        toolRetry: toolRetryMiddleware({ maxRetries: 3, initialDelayMs: 0, jitter: false }),
      };
      const agent = createAgent({
        model: new StrictChatModel({ script: once }),
        tools: [
          charge(() => {
            effects++;
            throw new Error("limit exceeded");
          }),
        ],
        middleware: order.map((name) => layers[name]) as AgentMiddleware[],
      });
      const { messages } = await agent.invoke(ask("x"));
      expect(results(messages)[0]?.content).toContain("limit exceeded");
      expect(effects).toBe(1);
    }
  });

  it("D2: three sends: twice in a batch, once more in the next turn", async () => {
    const { guard, limits } = setup();
    let effects = 0;
    const agent = createAgent({
      model: new StrictChatModel({
        script: [
          callTools(["charge", { order: "O-7" }], ["charge", { order: "O-7" }]),
          "sent",
          callTools(["charge", { order: "O-7" }]),
          "sent",
        ],
      }),
      tools: [charge(() => `sent ${++effects}`)],
      middleware: [guard, limits],
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(ask("send the reminder twice"), config);
    expect(effects).toBe(2);
    await agent.invoke(ask("once more"), config);
    expect(effects).toBe(3);
  });

  it("a run without a thread repeats nothing of an earlier run", async () => {
    const { guard } = setup();
    let effects = 0;
    const run = () =>
      createAgent({
        model: new StrictChatModel({ script: once }),
        tools: [charge(() => `${++effects}`)],
        middleware: [guard],
      }).invoke(ask("charge it"));
    await run();
    await run();
    expect(effects).toBe(2);
  });

  it("a tool's error reads as without middleware; argument errors too; the run goes on", async () => {
    const bodies = [charge(() => Promise.reject(new Error("no such order")))];
    const answers = async (middleware: AgentMiddleware[], script: readonly (Reply | Script)[]) => {
      const agent = createAgent({ model: new StrictChatModel({ script }), tools: bodies, middleware });
      // A stack is in LangChain's text of an argument error; only the first line is compared.
      return results((await agent.invoke(ask("x"))).messages).map((m) => [
        String(m.content).split("\n")[0],
        m.status,
      ]);
    };
    for (const args of [{ order: "O-7" }, { order: 7 }]) {
      const script = [callTools(["charge", args]), "sorry"];
      const plain = await answers([], script);
      const { guard, limits } = setup();
      expect(await answers([guard, limits], script)).toEqual(plain);
      expect(await answers([limits], script)).toEqual(plain);
    }
  });

  it("C1: parallel calls that ask each get their own answer, and the finished one is not run again", async () => {
    const { guard, limits } = setup({ charge: { effect: "record" }, ask: { effect: "record" } });
    let effects = 0;
    const agent = createAgent({
      model: new StrictChatModel({
        script: [
          callTools(["charge", { order: "O-7" }], ["ask", { order: "A" }], ["ask", { order: "B" }]),
          "done",
        ],
      }),
      tools: [charge(() => `charged ${++effects}`), charge((q) => `${q}: ${interrupt(q) as string}`, "ask")],
      middleware: [guard, limits],
      checkpointer: new MemorySaver(),
    });
    const paused = await agent.invoke(ask("x"), config);
    const questions = (paused as unknown as { __interrupt__: { id: string; value: string }[] }).__interrupt__;
    expect(new Set(questions.map(({ id }) => id)).size).toBe(2);
    const answer = { B: "no", A: "yes" } as Record<string, string>;
    const resume = Object.fromEntries(questions.map(({ id, value }) => [id, answer[value]]));
    const { messages } = await agent.invoke(new Command({ resume }), config);
    expect(results(messages).map(({ content }) => content)).toEqual(["charged 1", "A: yes", "B: no"]);
    expect(effects).toBe(1);
  });

  it("D6: onUnknown ask: a human settles it, and the tool's own question still gets its own answer", async () => {
    const { guard } = setup({ charge: { effect: "record", onUnknown: "ask" } });
    let effects = 0;
    const agent = createAgent({
      model: new StrictChatModel({ script: once }),
      tools: [
        charge(() => {
          if (++effects === 1) throw timeout();
          return `amount ${interrupt("which amount?") as string}`;
        }),
      ],
      middleware: [guard],
      checkpointer: new MemorySaver(),
    });
    const value = (state: unknown) =>
      (state as { __interrupt__: { value: unknown }[] }).__interrupt__[0]?.value;
    const first = await agent.invoke(ask("x"), config);
    expect(value(first)).toMatchObject({
      type: "longhaul.effect_unknown",
      tool: "charge",
      args: { order: "O-7" },
    });
    const second = await agent.invoke(new Command({ resume: "absent" }), config);
    expect(value(second)).toBe("which amount?");
    const third = await agent.invoke(new Command({ resume: "5" }), config);
    expect(results(third.messages)[0]?.content).toBe("amount 5");
    const done = setup({ charge: { effect: "record", onUnknown: "ask" } });
    const other = createAgent({
      model: new StrictChatModel({ script: once }),
      tools: [charge(() => Promise.reject(timeout()))],
      middleware: [done.guard],
      checkpointer: new MemorySaver(),
    });
    await other.invoke(ask("x"), config);
    const settled = await other.invoke(new Command({ resume: { outcome: "done", result: "ref 9" } }), config);
    expect(results(settled.messages)[0]?.content).toContain("ref 9");
  });

  it("C3: effects are bound to what a human decided, and stay one over a crash behind them", async () => {
    const { guard, limits, storage } = setup({ calc: { effect: "record" }, refund: { effect: "record" } });
    const counts: Record<string, number> = {};
    const count = (name: string) =>
      charge((order) => {
        counts[`${name} ${order}`] = (counts[`${name} ${order}`] ?? 0) + 1;
        return `${name} ${order}`;
      }, name);
    let lost = false;
    class LosingSaver extends MemorySaver {
      override async putWrites(...args: Parameters<MemorySaver["putWrites"]>): Promise<void> {
        if (lost && JSON.stringify(args[1]).includes("refund 50")) {
          lost = false;
          throw new Error("power lost");
        }
        return super.putWrites(...args);
      }
    }
    const agent = createAgent({
      model: new StrictChatModel({
        script: [callTools(["calc", { order: "1" }], ["refund", { order: "500" }]), "done"],
      }),
      tools: [count("calc"), count("refund")],
      middleware: [
        humanInTheLoopMiddleware({ interruptOn: { refund: true } } as never),
        guard,
        limits,
      ] as AgentMiddleware[],
      checkpointer: new LosingSaver(),
    });
    await agent.invoke(ask("x"), config);
    const decisions = [{ type: "edit", editedAction: { name: "refund", args: { order: "50" } } }];
    lost = true;
    await expect(agent.invoke(new Command({ resume: { decisions } }), config)).rejects.toThrow("power lost");
    const { messages } = await agent.invoke(null as never, config);
    expect(counts).toEqual({ "calc 1": 1, "refund 50": 1 });
    const byName = Object.fromEntries(results(messages).map(({ name, content }) => [name, content]));
    expect(byName.calc).toContain("calc 1");
    expect(byName.refund).toContain("refund 50");
    const records = [];
    for await (const { record } of storage.effects.list("t")) records.push(record);
    expect(records.find(({ tool: name }) => name === "refund")?.args).toEqual({ order: "50" });
  });

  it("subagents: a guarded tool inside an agent that a tool runs acts once for each call of the outer tool", async () => {
    const { guard, storage } = setup({ delegate: { callsAgent: true } });
    let effects = 0;
    const [inner] = guardTools([charge(() => `charged ${++effects}`)], {
      storage,
      tools: { charge: { effect: "record" } },
    });
    const delegate = tool(
      async ({ order }, runtime) => {
        const agent = createAgent({ model: new StrictChatModel({ script: once }), tools: [inner] });
        const { messages } = await agent.invoke(ask(order), runtime as never);
        return results(messages)[0]?.content as string;
      },
      { name: "delegate", description: "x", schema },
    );
    const agent = createAgent({
      model: new StrictChatModel({
        script: [callTools(["delegate", { order: "same" }], ["delegate", { order: "same" }]), "done"],
      }),
      tools: [delegate],
      middleware: [guard],
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(ask("x"), config);
    expect(effects).toBe(2);
  });

  it("guardTools under the middleware is not guarded twice", async () => {
    const { guard, limits, storage, events } = setup();
    let effects = 0;
    const [own] = guardTools([charge(() => `${++effects}`)], {
      storage,
      tools: { charge: { effect: "record" } },
    });
    const agent = createAgent({
      model: new StrictChatModel({ script: once }),
      tools: [own],
      middleware: [guard, limits],
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(ask("x"), config);
    let records = 0;
    for await (const _ of storage.effects.list("t")) records++;
    expect([effects, records]).toEqual([1, 1]);
    expect(events.filter(({ type }) => type === "effect.unguarded")).toEqual([]);
  });

  it("a ledger that cannot be reached ends the run, typed; nothing ran", async () => {
    const { guard, storage } = setup();
    storage.records.get = () => Promise.reject(new Error("connection lost"));
    let effects = 0;
    const agent = createAgent({
      model: new StrictChatModel({ script: once }),
      tools: [charge(() => `${++effects}`)],
      middleware: [guard],
      checkpointer: new MemorySaver(),
    });
    await expect(agent.invoke(ask("x"), config)).rejects.toMatchObject({ code: "EFFECT_LEDGER" });
    expect(effects).toBe(0);
  });
});

describe("what would go around the guard", () => {
  const substitute = (run: (order: string) => unknown) =>
    createMiddleware({
      name: "substitute",
      wrapToolCall: (request, handler) => handler({ ...request, tool: charge(run) }),
    });

  it("D11: a later middleware that runs a tool of its own is refused at the first call, and never asked again", async () => {
    const { guard, events } = setup();
    let effects = 0;
    const build = (checkpointer: MemorySaver) =>
      createAgent({
        model: new StrictChatModel({ script: () => callTools(["charge", { order: "O-7" }]) }),
        tools: [charge(() => "real")],
        middleware: [guard, substitute(() => `${++effects}`)],
        checkpointer,
      });
    for (let i = 0; i < 2; i++) {
      const error: unknown = await build(new MemorySaver())
        .invoke(ask("x"), config)
        .catch((e: unknown) => e);
      expect((error as Error).cause).toSatisfy(BypassedGuardError.isInstance);
    }
    expect(effects).toBe(1);
    expect(events.map(({ type }) => type)).toContain("effect.unguarded");
  });

  it("before the guard it is guarded like any other, and reads may be answered by whom they may", async () => {
    const { guard } = setup();
    let effects = 0;
    const agent = createAgent({
      model: new StrictChatModel({ script: once }),
      tools: [charge(() => "real")],
      middleware: [substitute(() => `${++effects}`), guard],
    });
    expect(results((await agent.invoke(ask("x"))).messages)[0]?.content).toBe("1");
    const reads = setup({ charge: { effect: "none" } });
    const reader = createAgent({
      model: new StrictChatModel({ script: once }),
      tools: [charge(() => "real")],
      middleware: [reads.guard, substitute(() => "cached")],
    });
    expect(results((await reader.invoke(ask("x"))).messages)[0]?.content).toBe("cached");
  });

  it("a later middleware may refuse a call, and wrap the guarded tool", async () => {
    const { guard } = setup();
    const agent = (middleware: AgentMiddleware) =>
      createAgent({
        model: new StrictChatModel({ script: once }),
        tools: [charge(() => "real")],
        middleware: [guard, middleware],
      });
    const refusing = createMiddleware({
      name: "refusing",
      wrapToolCall: ({ toolCall }) =>
        new ToolMessage({ content: "not allowed", status: "error", tool_call_id: toolCall.id as string }),
    });
    expect(results((await agent(refusing).invoke(ask("x"))).messages)[0]?.content).toBe("not allowed");
    const passing = createMiddleware({
      name: "passing",
      wrapToolCall: (request, handler) => handler(request),
    });
    expect(results((await agent(passing).invoke(ask("x"))).messages)[0]?.content).toBe("real");
  });

  it("a tool that nobody registered passes, with an event", async () => {
    const { guard, events } = setup();
    const agent = createAgent({
      model: new StrictChatModel({ script: [callTools(["dynamic", { order: "O-7" }]), "done"] }),
      tools: [charge(() => "real")],
      middleware: [
        guard,
        createMiddleware({
          name: "provider",
          wrapToolCall: (request, handler) =>
            handler(request.tool ? request : { ...request, tool: charge(() => "dynamic ran", "dynamic") }),
        }),
      ],
    });
    expect(results((await agent.invoke(ask("x"))).messages)[0]?.content).toBe("dynamic ran");
    expect(events).toMatchObject([{ type: "effect.unguarded", tool: "dynamic", reason: "dynamic-tool" }]);
  });

  it("assertOrder finds it before the first run", () => {
    const { guard, limits } = setup();
    const agent = (middleware: AgentMiddleware[]) =>
      createAgent({ model: new StrictChatModel({ script: once }), tools: [], middleware });
    const foreign = substitute(() => "x");
    assertOrder(agent([foreign, limits, guard]));
    assertOrder(agent([foreign]));
    assertOrder(
      agent([
        guard,
        limits,
        toolRetryMiddleware(),
        modelFallbackMiddleware(new StrictChatModel({ script: once })),
      ]),
    );
    assertOrder(agent([guard, foreign]), { allow: ["substitute"] });
    expect(() => assertOrder(agent([guard, foreign]))).toThrow(GuardOrderError);
    expect(() => assertOrder(agent([guard, foreign]))).toThrow("substitute");
  });
});

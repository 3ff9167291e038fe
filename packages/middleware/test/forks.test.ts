import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type CheckpointTuple, Command, interrupt, MemorySaver } from "@langchain/langgraph";
import {
  type EffectOptions,
  guardTools,
  type LonghaulEvent,
  memoryStorage,
  superviseRun,
} from "@longhaul/core";
import { callTools, StrictChatModel } from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { idempotencyMiddleware, runStatusMiddleware } from "../src/index.ts";

const config = { configurable: { thread_id: "t" } };
const ask = (content: string) => ({ messages: [{ id: "h", role: "user" as const, content }] });
const results = (messages: readonly BaseMessage[]) =>
  messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));
const lastResult = (state: { messages: readonly BaseMessage[] }) =>
  String(results(state.messages).at(-1)?.content);

/** An agent that charges once for each human turn, and says how often it really did. */
function chargingAgent(options: EffectOptions & { keyOf?: () => string; saver?: MemorySaver } = {}) {
  const { keyOf, saver = new MemorySaver(), ...effects } = options;
  const events: LonghaulEvent[] = [];
  const world = { effects: 0, keys: [] as string[], fail: undefined as (() => void) | undefined };
  const storage = memoryStorage();
  const agent = createAgent({
    model: new StrictChatModel({
      script: ({ messages }) => {
        // behind the answer may stand a note that the run was resumed
        const answered = messages.slice(-2).some(({ role }) => role === "tool");
        if (answered) world.fail?.();
        return answered ? "done" : callTools(["charge", { order: "O-7" }]);
      },
    }),
    tools: [
      tool(() => `charged ${++world.effects}`, {
        name: "charge",
        description: "x",
        schema: z.object({ order: z.string() }),
      }),
    ],
    checkpointer: saver,
    middleware: [
      runStatusMiddleware(),
      idempotencyMiddleware({
        ...effects,
        storage,
        tools: { charge: { effect: "record", ...(keyOf ? { keyOf } : {}) } },
        events: (event) => void events.push(event),
      }),
    ],
  });
  const at = async (find: (state: { next: string[]; source: unknown }) => boolean) => {
    for await (const state of agent.graph.getStateHistory(config)) {
      const { source } = (state.metadata ?? {}) as { source?: unknown };
      if (find({ next: [...state.next], source })) return state.config;
    }
    throw new Error("no such state");
  };
  return { agent, world, events, at, storage };
}

describe("C6: effects on branches of a thread's history", () => {
  it("C6: going back behind an effect and on again does it anew, once on each branch", async () => {
    const { agent, world, events, at } = chargingAgent();
    await agent.invoke(ask("Charge O-7."), config);
    const before = await at(({ next }) => next.includes("tools"));
    for (const expected of [2, 3]) {
      const state = await agent.graph.invoke(null, before);
      expect(lastResult(state)).toBe(`charged ${expected}`);
    }
    expect(world.effects).toBe(3);
    const forked = events.filter(({ type }) => type === "effect.forked") as { key: string }[];
    // the third branch finds what both others did
    expect(forked).toHaveLength(3);
    expect(new Set(forked.map(({ key }) => key)).size).toBe(2);
  });

  it.each([
    ["run", 2],
    ["replay", 1],
  ] as const)("C6: the same words again, from before them: onFork %s", async (onFork, expected) => {
    const { agent, world, at } = chargingAgent({ onFork });
    await agent.invoke(ask("Charge O-7."), config);
    const fork = await agent.graph.updateState(
      await at(({ source }) => source === "input"),
      ask("Charge O-7."),
      "__start__",
    );
    const state = await agent.graph.invoke(null, fork);
    expect(world.effects).toBe(expected);
    if (onFork === "replay") expect(lastResult(state)).toMatch(/^charged 1\s+\[Stored result/);
    else expect(lastResult(state)).toBe("charged 2");
  });

  it("C6: a new input for an old checkpoint is a branch too", async () => {
    const { agent, world, at } = chargingAgent();
    await agent.invoke(ask("Hello."), config);
    const base = await at(({ next }) => next.length === 0);
    for (const id of ["h2", "h3"])
      await agent.invoke({ messages: [{ id, role: "user", content: "Charge O-7." }] }, base);
    expect(world.effects).toBe(3);
  });

  it("C6: a crash on the second branch resumes that branch: what it did is not done again", async () => {
    const { agent, world, at } = chargingAgent();
    await agent.invoke(ask("Charge O-7."), config);
    const before = await at(({ next }) => next.includes("tools"));
    world.fail = () => {
      throw new Error("the process dies behind the tool");
    };
    await expect(agent.graph.invoke(null, before)).rejects.toThrow("dies");
    world.fail = undefined;
    await agent.graph.invoke(null, config);
    expect(world.effects).toBe(2);
    // and from the fork's own checkpoint, from which nothing was saved but that: it is the newest of its branch
    const state = await agent.graph.invoke(null, await at(({ next }) => next.includes("tools")));
    expect(lastResult(state)).toBe("charged 3");
  });

  it("C6: what was done and never reached a checkpoint is answered from the ledger, also for a later asking", async () => {
    const saver = new MemorySaver();
    const { agent, world, at } = chargingAgent({ saver });
    await agent.invoke(ask("Charge O-7."), { ...config, durability: "exit" });
    expect(world.effects).toBe(1);
    // as after a crash under `exit`: the same input for a thread that knows of nothing
    await saver.deleteThread("t");
    const state = await agent.invoke(ask("Charge O-7."), config);
    expect(world.effects).toBe(1);
    expect(lastResult(state)).toMatch(/Stored result/);
    await expect(at(({ next }) => next.includes("tools"))).resolves.toBeDefined();
  });

  it("C6, C7: two runs that race from one checkpoint do it once", async () => {
    const { agent, world } = chargingAgent();
    await Promise.all([agent.invoke(ask("Charge O-7."), config), agent.invoke(ask("Charge O-7."), config)]);
    expect(world.effects).toBe(1);
  });

  it("C6, D4: a caller's own key means the same effect on every branch", async () => {
    const { agent, world, at } = chargingAgent({ keyOf: () => "O-7" });
    await agent.invoke(ask("Charge O-7."), config);
    await agent.graph.invoke(null, await at(({ next }) => next.includes("tools")));
    expect(world.effects).toBe(1);
  });

  it("C6: a checkpointer that cannot tell its history repeats nothing", async () => {
    class Forgetful extends MemorySaver {
      hides = false;
      override async *list(...args: Parameters<MemorySaver["list"]>): ReturnType<MemorySaver["list"]> {
        if (this.hides) throw new Error("damaged");
        yield* super.list(...args);
      }
    }
    const saver = new Forgetful();
    const { agent, world, at } = chargingAgent({ saver });
    await agent.invoke(ask("Charge O-7."), config);
    const before = await at(({ next }) => next.includes("tools"));
    saver.hides = true;
    await agent.graph.invoke(null, before);
    expect(world.effects).toBe(1);
  });

  it("C6: inside a subagent it is the root's history that counts", async () => {
    let effects = 0;
    const storage = memoryStorage();
    const inner = createAgent({
      name: "payments",
      model: new StrictChatModel({
        script: ({ messages }) =>
          messages.at(-1)?.role === "tool" ? "paid" : callTools(["charge", { order: "O-7" }]),
      }),
      tools: guardTools(
        [
          tool(() => `charged ${++effects}`, {
            name: "charge",
            description: "x",
            schema: z.object({ order: z.string() }),
          }),
        ],
        { storage, tools: { charge: { effect: "record" } } },
      ),
    });
    const pay = tool(
      async (_, runtime) => {
        const { messages } = await inner.invoke(ask("Charge O-7."), runtime as never);
        return String(messages.at(-1)?.content);
      },
      { name: "pay", description: "x", schema: z.object({}) },
    );
    let dies = true;
    const agent = createAgent({
      model: new StrictChatModel({
        script: ({ messages }) => {
          if (messages.at(-1)?.role !== "tool") return callTools(["pay", {}]);
          if (dies) throw new Error("dies");
          return "done";
        },
      }),
      tools: [pay],
      checkpointer: new MemorySaver(),
      middleware: [idempotencyMiddleware({ storage, tools: { pay: { callsAgent: true } } })],
    });
    await expect(agent.invoke(ask("Pay."), config)).rejects.toThrow("dies");
    dies = false;
    await agent.graph.invoke(null, config);
    expect(effects).toBe(1);
    const states = [];
    for await (const state of agent.graph.getStateHistory(config)) states.push(state);
    const before = states.find(({ next }) => next.includes("tools"));
    await agent.graph.invoke(null, before?.config ?? config);
    expect(effects).toBe(2);
  });

  it("C6, C1: the answer to a question resumes the branch that asked, and does not do its sibling again", async () => {
    const { storage } = chargingAgent();
    let effects = 0;
    const agent = createAgent({
      model: new StrictChatModel({
        script: ({ messages }) =>
          messages.at(-1)?.role === "tool" ? "done" : callTools(["charge", {}], ["confirm", {}]),
      }),
      tools: [
        tool(() => `charged ${++effects}`, { name: "charge", description: "x", schema: z.object({}) }),
        tool(() => `said ${String(interrupt("sure?"))}`, {
          name: "confirm",
          description: "x",
          schema: z.object({}),
        }),
      ],
      checkpointer: new MemorySaver(),
      middleware: [idempotencyMiddleware({ storage, tools: { charge: { effect: "record" } } })],
    });
    await agent.invoke(ask("Go."), config);
    await agent.invoke(new Command({ resume: "yes" }), config);
    expect(effects).toBe(1);
  });

  it("C6, C16: behind a damaged checkpoint that recovery left aside, nothing is done again", async () => {
    const saver = new MemorySaver();
    const { agent, world } = chargingAgent({ saver });
    await agent.invoke(ask("Charge O-7."), config);
    // those that hold the result
    const states = [];
    for await (const { config: at, next } of agent.graph.getStateHistory(config)) states.push({ at, next });
    const asked = states.findIndex(({ next }) => next.includes("tools"));
    const lost = new Set(states.slice(0, asked).map(({ at }) => at.configurable?.checkpoint_id as string));
    breakCheckpoints(saver, lost);
    const result = await superviseRun(agent, null, config, {
      onDamagedHead: "parent",
      meter: false,
      backoff: { delaysMs: [0] },
    });
    expect(result.status).toBe("COMPLETED");
    expect(world.effects).toBe(1);
  });
});

/** As if something had written over a channel of these checkpoints. */
function breakCheckpoints(saver: MemorySaver, lost: ReadonlySet<string>): void {
  const { getTuple, list } = saver;
  const broken = <T extends CheckpointTuple | undefined>(tuple: T): T => {
    if (!tuple || !lost.has(tuple.checkpoint.id)) return tuple;
    const channel_values = { ...tuple.checkpoint.channel_values, _longhaulRun: "?" };
    return { ...tuple, checkpoint: { ...tuple.checkpoint, channel_values } };
  };
  saver.getTuple = async (of) => broken(await getTuple.call(saver, of));
  saver.list = async function* (of, options) {
    for await (const tuple of list.call(saver, of, options)) yield broken(tuple);
  };
}

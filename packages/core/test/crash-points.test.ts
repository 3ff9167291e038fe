import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { END, MemorySaver, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import {
  createStorage,
  LeaseStore,
  MemoryArtifactStore,
  MemoryRecordStore,
  type RecordStore,
  type SupervisedResult,
  superviseRun,
} from "@longhaul/core";
import { countingIds, fakeClock } from "@longhaul/test-kit";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ask, shown, thread } from "./supervised-agent.ts";

const STEPS = 3;
const TOOLS = ["search", "charge"] as const;

/** What outlives a process: the checkpoints, the records, the world outside. */
function disk() {
  const clock = fakeClock({ autoAdvance: true });
  return {
    clock,
    saver: new MemorySaver(),
    records: new MemoryRecordStore(clock.now),
    effects: [] as string[],
    modelCalls: 0,
    newId: countingIds("run"),
  };
}

type Disk = ReturnType<typeof disk>;

/**
 * Runs the supervised agent in a "process" that dies at its `dieAt`-th event: from then on nothing in it happens any more,
 * neither in the branch that died nor in parallel ones. Resolves to the result, or to undefined when it died.
 */
async function processRun(world: Disk, pid: number, dieAt: number): Promise<SupervisedResult | undefined> {
  let events = 0;
  let die: (value: undefined) => void = () => {};
  const death = new Promise<undefined>((resolve) => {
    die = resolve;
  });
  const point = async () => {
    events++;
    if (events < dieAt) return;
    die(undefined);
    await new Promise<never>(() => {});
  };
  const around = async <T>(action: () => T | Promise<T>): Promise<T> => {
    await point();
    const result = await action();
    await point();
    return result;
  };
  const mortal = <T extends object>(inner: T, ...names: readonly string[]): T =>
    new Proxy(inner, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== "function") return value;
        const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
        return names.includes(String(name)) ? (...args: unknown[]) => around(() => call(...args)) : call;
      },
    });

  const model = (state: { readonly messages: readonly BaseMessage[] }) =>
    around(() => {
      world.modelCalls++;
      const step = state.messages.filter((message) => message.getType() === "ai").length + 1;
      if (step > STEPS) return { messages: [new AIMessage("done")] };
      const tool_calls = TOOLS.map((name) => ({ name, args: { step }, id: `${name}_${step}` }));
      return { messages: [new AIMessage({ content: "", tool_calls })] };
    });
  const tools = ({ call }: { readonly call: { readonly name: string; readonly id: string } }) =>
    around(() => {
      world.effects.push(call.id);
      return {
        messages: [new ToolMessage({ content: `${call.id} ok`, tool_call_id: call.id, name: call.name })],
      };
    });
  const route = (state: { readonly messages: readonly BaseMessage[] }) => {
    const last = state.messages.at(-1) as AIMessage;
    return last.tool_calls?.length ? last.tool_calls.map((call) => new Send("tools", { call })) : END;
  };
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", model)
    .addNode("tools", tools as never)
    .addEdge(START, "model")
    .addConditionalEdges("model", route, ["tools", END])
    .addEdge("tools", "model")
    .compile({ checkpointer: mortal(world.saver, "put", "putWrites") });

  const records: RecordStore = mortal(world.records, "compareAndSet");
  const deps = {
    clock: { ...world.clock, now: world.clock.now, sleep: unlessHeartbeat(world.clock.sleep) },
    newId: world.newId,
    random: () => 0.5,
  };
  const storage = {
    ...createStorage({ records, artifacts: new MemoryArtifactStore(), survivesProcess: true, deps }),
    leases: new LeaseStore(records, deps, {
      owner: { v: 1, host: "h", pid, started: "1" },
      alive: (owner) => owner.pid === pid,
    }),
  };
  const running = superviseRun(graph, ask("go"), thread(), {
    storage,
    deps,
    drainOnSigterm: false,
    meter: false,
  });
  return Promise.race([running, death]);
}

function unlessHeartbeat(sleep: Disk["clock"]["sleep"]): Disk["clock"]["sleep"] {
  return (ms, how) =>
    how?.unref
      ? new Promise((_, reject) => {
          how.signal?.addEventListener("abort", () => reject(how.signal?.reason), { once: true });
        })
      : sleep(ms, how);
}

const EXPECTED = [
  "human: go",
  ...Array.from({ length: STEPS }, (_, i) => [
    `ai: → ${TOOLS.join(", ")}`,
    ...TOOLS.map((name) => `tool: ${name}_${i + 1} ok`),
  ]).flat(),
  "ai: done",
];

function check(world: Disk, result: SupervisedResult | undefined, deaths: number): void {
  expect(result).toMatchObject({ status: "COMPLETED", stopReason: "final_answer" });
  expect(shown((result?.state.messages ?? []) as BaseMessage[])).toEqual(EXPECTED);
  expect(new Set(world.effects).size).toBe(STEPS * TOOLS.length);
  // Only what ran when the process died may run again; once only is the effect ledger's promise, not this function's.
  expect(world.effects.length).toBeLessThanOrEqual(STEPS * TOOLS.length + deaths * TOOLS.length);
  expect(world.modelCalls).toBeLessThanOrEqual(STEPS + 1 + deaths);
}

/** The last point there is: the lease has been given back, so the result counts as handed over. */
async function isHandedOver(world: Disk): Promise<boolean> {
  const lease = await world.records.get({ collection: "leases", thread: "t", key: "run" });
  return lease !== undefined && (lease.value as { owner: unknown }).owner === null;
}

it("D1, K1–K5: dies at every point there is, and the next process finishes the run as if nothing had been", async () => {
  let dieAt = 1;
  let handedOver = 0;
  for (; ; dieAt++) {
    const world = disk();
    const first = await processRun(world, 1, dieAt);
    if (first) {
      check(world, first, 0);
      break;
    }
    if (await isHandedOver(world)) handedOver++;
    else check(world, await processRun(world, 2, Number.POSITIVE_INFINITY), 1);
  }
  expect(handedOver).toBe(1);
  // Model, tools, checkpoints, writes, records and lease: many points, each before and after.
  expect(dieAt).toBeGreaterThan(60);
});

it("D1: survives several deaths of one run, wherever they fall", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 2, maxLength: 3 }),
      async (deaths) => {
        const world = disk();
        let died = 0;
        for (const [i, dieAt] of [...deaths, Number.POSITIVE_INFINITY].entries()) {
          const result = await processRun(world, i + 1, dieAt);
          if (result) return check(world, result, died);
          died++;
          if (await isHandedOver(world)) return;
        }
      },
    ),
    { seed: 21, numRuns: 60 },
  );
});

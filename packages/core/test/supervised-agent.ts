import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type BaseCheckpointSaver,
  END,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { type Clock, type LonghaulEvent, memoryStorage, type SuperviseOptions } from "@longhaul/core";
import { countingIds, type FakeClock, fakeClock } from "@longhaul/test-kit";

/** One answer of the scripted model: text, calls, or an error. */
export type Turn = string | Error | AIMessage | readonly { readonly name: string; readonly args?: object }[];

/** A call of the agent's tool node, for the test to answer. */
export type ToolBody = (
  call: { readonly name: string; readonly args: Readonly<Record<string, unknown>> },
  config: RunnableConfig,
) => unknown;

/** An agent as plain as possible: a model node and a tool node with one task per call, as `createAgent` builds them. */
export function scriptedAgent(given: {
  readonly turns: readonly Turn[];
  readonly tool?: ToolBody;
  readonly checkpointer?: BaseCheckpointSaver;
}) {
  const seen: { readonly messages: readonly string[]; readonly config: RunnableConfig }[] = [];
  const calls: string[] = [];
  let turn = 0;
  const model = (state: { readonly messages: readonly BaseMessage[] }, config: RunnableConfig) => {
    seen.push({ messages: shown(state.messages), config });
    const next = given.turns[turn++];
    if (next === undefined) throw new RangeError("the script has no further turn");
    if (next instanceof Error) throw next;
    if (typeof next === "string" || next instanceof AIMessage) {
      return { messages: [typeof next === "string" ? new AIMessage(next) : next] };
    }
    const tool_calls = next.map(({ name, args = {} }, i) => ({
      name,
      args: { ...args },
      id: `call_${turn}_${i}`,
    }));
    return { messages: [new AIMessage({ content: "", tool_calls })] };
  };
  const tools = async (
    {
      call,
    }: {
      readonly call: { readonly name: string; readonly args: Record<string, unknown>; readonly id: string };
    },
    config: RunnableConfig,
  ) => {
    calls.push(call.name);
    const content = String((await given.tool?.(call, config)) ?? `${call.name} done`);
    return { messages: [new ToolMessage({ content, tool_call_id: call.id, name: call.name })] };
  };
  const route = (state: { readonly messages: readonly BaseMessage[] }) => {
    const last = state.messages.at(-1) as AIMessage;
    return last.tool_calls?.length ? last.tool_calls.map((call) => new Send("tools", { call })) : END;
  };
  const checkpointer = given.checkpointer ?? new MemorySaver();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", model)
    .addNode("tools", tools as never)
    .addEdge(START, "model")
    .addConditionalEdges("model", route, ["tools", END])
    .addEdge("tools", "model")
    .compile({ checkpointer });
  return { graph, checkpointer, seen, calls };
}

export interface Bench {
  readonly options: SuperviseOptions & { readonly storage: NonNullable<SuperviseOptions["storage"]> };
  readonly clock: FakeClock;
  readonly events: readonly LonghaulEvent[];
  /** Waits between attempts, milliseconds. */
  readonly waits: readonly number[];
}

/** Storage, clock and event log of one imaginary world. */
export function bench(options: SuperviseOptions = {}): Bench {
  const fake = fakeClock({ autoAdvance: true });
  const events: LonghaulEvent[] = [];
  const waits: number[] = [];
  const clock: Clock = {
    ...fake,
    now: fake.now,
    sleep: (ms, how) => {
      // The lease's heartbeat: no time passes while nobody waits.
      if (how?.unref) {
        return new Promise((_, reject) => {
          how.signal?.addEventListener("abort", () => reject(how.signal?.reason), { once: true });
        });
      }
      waits.push(ms);
      return fake.sleep(ms, how);
    },
  };
  const deps = { clock, newId: countingIds("run"), random: () => 0.5 };
  return {
    options: {
      // What a process leaves behind is this object: to the tests it is durable.
      storage: { ...memoryStorage(deps), survivesProcess: true },
      deps,
      drainOnSigterm: false,
      meter: false,
      events: (event) => void events.push(event),
      ...options,
    } as Bench["options"],
    clock: fake,
    events,
    waits,
  };
}

export const thread = (id = "t"): RunnableConfig => ({ configurable: { thread_id: id } });

export const ask = (text: string) => ({ messages: [new HumanMessage(text)] });

/** Messages in one line each: `human: go`, `ai: → search, charge`, `tool: …`. */
export function shown(messages: readonly BaseMessage[]): string[] {
  return messages.map((message) => {
    const calls = (message as AIMessage).tool_calls ?? [];
    const text = String(message.content);
    return `${message.getType()}: ${calls.length > 0 ? `→ ${calls.map((call) => call.name).join(", ")}` : text}`;
  });
}

export function httpError(status: number, headers: Readonly<Record<string, string>> = {}): Error {
  return Object.assign(new Error(`status ${status}`), { status, headers });
}

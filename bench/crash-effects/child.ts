// Child process of the crash bench: lives of agents, one after another. Waits for each in a message, so that its start costs no time later.
import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { superviseRun } from "@longhaul/core";
import { ToolWorld } from "@longhaul/test-kit";
import { loadNative } from "../saver/native.ts";
import { buildAgent, reaped } from "./agent.ts";
import { type Death, Reaper } from "./death.ts";
import { openSaver, type Place } from "./stores.ts";

export interface Life {
  readonly place: Place;
  readonly thread: string;
  /** Of the endpoint. */
  readonly url: string;
  readonly form: "agent" | "graph";
  readonly words: string;
  readonly durability: "sync" | "async" | "exit";
  readonly guarded: boolean;
  readonly asks: boolean;
  readonly concurrency: number;
  readonly death: Death;
}

/** How a life ended that was not cut off. */
export interface Ending {
  readonly status: string;
  readonly stopReason?: string | undefined;
  readonly failure?: string | undefined;
  readonly messages: readonly Said[];
}

export interface Said {
  readonly type: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly order: string }[];
  /** Of a tool's answer: the call, and whether it says that it was stored. */
  readonly answers?: string | undefined;
}

await loadNative();
process.on("message", (life: Life) => {
  live(life).then(
    (ending) => process.send?.({ ending }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
process.send?.("loaded");

/** Begins the run, or goes on with it, as a worker does that knows the input and nothing else; answers what it is asked. */
async function live(life: Life): Promise<Ending> {
  const reaper = new Reaper(life.death);
  const compact = openSaver(life.place);
  const world = ToolWorld.open(life.place.world);
  try {
    const storage = reaped(compact, reaper);
    const agent = buildAgent({ ...life, saver: reaper.saver(compact as never), storage, world, reaper });
    const config = { configurable: { thread_id: life.thread }, durability: life.durability };
    const options = {
      storage,
      meter: false as const,
      caps: { step: 100, run: 10_000 },
      backoff: { delaysMs: [0] },
    };
    process.send?.("ready");
    const input = { messages: [{ role: "user", content: life.words }] };
    let result = await superviseRun(agent, input, config, options);
    while (result.interrupts.length > 0) {
      const resume = Object.fromEntries(result.interrupts.map(({ id }) => [id ?? "", "yes"]));
      result = await superviseRun(agent, new Command({ resume }), config, options);
    }
    const { messages = [] } = result.state as { messages?: BaseMessage[] };
    return {
      status: result.status,
      stopReason: result.stopReason,
      failure: result.lastFailure?.message,
      messages: messages.map(said),
    };
  } finally {
    world.close();
    await compact.end();
  }
}

function said(message: BaseMessage): Said {
  const { tool_calls = [] } = message as {
    tool_calls?: { id?: string; name: string; args: { order?: string } }[];
  };
  return {
    type: message.getType(),
    text: typeof message.content === "string" ? message.content : JSON.stringify(message.content),
    calls: tool_calls.map(({ id = "", name, args }) => ({ id, name, order: args.order ?? "" })),
    ...(ToolMessage.isInstance(message) ? { answers: message.tool_call_id } : {}),
  };
}

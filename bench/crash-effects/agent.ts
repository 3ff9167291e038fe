import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, interrupt } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import {
  createStorage,
  currentEffect,
  guardTools,
  type LonghaulStorage,
  type SupervisableGraph,
  type ToolOptionsMap,
} from "@longhaul/core";
import { createLonghaulGraph } from "@longhaul/graph-nodes";
import { idempotencyMiddleware, runStatusMiddleware, toolGuardMiddleware } from "@longhaul/middleware";
import type { ToolWorld } from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { z } from "zod/v4";
import type { Reaper } from "./death.ts";

export interface AgentParts {
  readonly form: "agent" | "graph";
  /** Of the endpoint. */
  readonly url: string;
  readonly thread: string;
  readonly saver: BaseCheckpointSaver;
  readonly storage: LonghaulStorage;
  readonly world: ToolWorld;
  readonly reaper: Reaper;
  /** Whether effects are guarded; the controls are not. */
  readonly guarded: boolean;
  /** Tools ask a human before they act. */
  readonly asks: boolean;
  /** Calls of one step that run at once. */
  readonly concurrency: number;
}

const schema = z.object({ order: z.string() });

/** The storage, with a reaper around its records. */
export function reaped(storage: LonghaulStorage, reaper: Reaper): LonghaulStorage {
  const { artifacts, survivesProcess } = storage;
  return createStorage({ records: reaper.records(storage.records), artifacts, survivesProcess });
}

/** An agent whose tools act on the world, each in one of the ledger's modes. */
export function buildAgent(parts: AgentParts): SupervisableGraph {
  const { storage, guarded, concurrency } = parts;
  const model = new ChatOpenAI({
    model: "scripted-model",
    apiKey: "none",
    configuration: { baseURL: parts.url },
    maxRetries: 0,
  });
  const tools = toolsOf(parts);
  const toolOptions = optionsOf(parts);
  const inner = createAgent({
    name: "worker",
    model,
    tools: guarded ? guardTools(tools, { storage, tools: toolOptions }) : tools,
  });
  const delegate = tool(
    async ({ task }, config) => {
      const { messages } = await inner.invoke(
        { messages: [{ role: "user", content: task }] },
        config as never,
      );
      return answersIn(messages);
    },
    { name: "delegate", description: "Has a worker do it.", schema: z.object({ task: z.string() }) },
  );
  const all = [...tools, delegate] as StructuredToolInterface[];
  if (parts.form === "graph") {
    return createLonghaulGraph({
      model,
      tools: all,
      toolOptions,
      storage,
      toolGuard: { concurrency },
      progress: false,
      loops: false,
      budget: false,
    }).compile({ checkpointer: parts.saver }) as SupervisableGraph;
  }
  const shared = { storage, tools: toolOptions };
  return createAgent({
    model,
    tools: all,
    checkpointer: parts.saver,
    middleware: guarded
      ? [
          runStatusMiddleware(),
          idempotencyMiddleware(shared),
          toolGuardMiddleware({ ...shared, concurrency }),
        ]
      : [],
  }) as unknown as SupervisableGraph;
}

function toolsOf({ thread, world, reaper, guarded, asks }: AgentParts): StructuredToolInterface[] {
  const act = (name: string, order: string, key?: string) => {
    if (asks) interrupt(`May ${name} do ${order}?`);
    const { result } = world.perform({
      tool: name,
      business: `${thread}:${order}`,
      key,
      payload: { order },
      result: () => `${name} did ${order}`,
    });
    reaper.effectDone();
    return result as string;
  };
  const described = (name: string) => ({ name, description: `Acts (${name}).`, schema });
  return [
    tool(({ order }, config) => act("key", order, guarded ? currentEffect(config).key : undefined), {
      ...described("key"),
    }),
    tool(({ order }) => act("query", order), described("query")),
    tool(({ order }) => act("record", order), described("record")),
    tool(({ order }) => `read did ${order}`, described("read")),
  ] as StructuredToolInterface[];
}

function optionsOf({ thread, world }: AgentParts): ToolOptionsMap {
  return {
    key: { effect: "key" },
    record: { effect: "record" },
    read: { effect: "none" },
    delegate: { callsAgent: true },
    query: {
      effect: "query",
      check: ({ order }) => {
        const result = world.find("query", `${thread}:${String(order)}`);
        return result === undefined ? { outcome: "absent" } : { outcome: "done", result };
      },
    },
  };
}

/** What the tools of a subagent answered: its caller sees no more of it. */
function answersIn(messages: readonly BaseMessage[]): string {
  return messages
    .filter((message) => ToolMessage.isInstance(message))
    .map(({ content }) => String(content))
    .join("\n");
}

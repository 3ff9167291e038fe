import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { EventSink, LonghaulStorage, SupervisableGraph, ToolOptionsMap } from "@longhaul/core";
import { createLonghaulGraph } from "@longhaul/graph-nodes";
import { longhaul } from "@longhaul/middleware";
import { createAgent, createMiddleware } from "langchain";
import type { DemoPart } from "./demo-options.ts";

export interface AgentParts {
  readonly form: "createAgent" | "graph";
  readonly model: BaseChatModel;
  readonly tools: StructuredToolInterface[];
  readonly toolOptions: ToolOptionsMap;
  readonly systemPrompt: string;
  readonly checkpointer: BaseCheckpointSaver;
  readonly storage: LonghaulStorage;
  readonly window: number;
  readonly without: readonly DemoPart[];
  readonly events: EventSink;
}

/** The researcher with Longhaul in it, in one of its two forms. */
export function buildAgent(parts: AgentParts): SupervisableGraph {
  const { model, tools, systemPrompt, checkpointer, without } = parts;
  const options = {
    storage: parts.storage,
    events: parts.events,
    // The same endpoint makes the summaries; a cheaper model would do.
    summarizer: model,
    context: { window: parts.window },
    budget: { preset: "complex", limits: { tokens: 10_000_000 } },
    effects: without.includes("ledger") ? false : {},
  } as const;
  if (parts.form === "graph") {
    return createLonghaulGraph({
      ...options,
      model,
      tools,
      systemPrompt,
      toolOptions: parts.toolOptions,
    }).compile({
      checkpointer,
    }) as SupervisableGraph;
  }
  return createAgent({
    model,
    tools,
    systemPrompt,
    checkpointer,
    middleware: [
      ...longhaul({ ...options, tools: parts.toolOptions }),
      ...(without.includes("memory") ? [amnesia] : []),
    ],
  }) as unknown as SupervisableGraph;
}

/** A control: takes the memory layer out of each request, and the recall tool. */
const amnesia = createMiddleware({
  name: "Amnesia",
  wrapModelCall: (request, handler) =>
    handler({
      ...request,
      messages: request.messages.map(withoutMemory),
      tools: request.tools.filter((tool) => tool.name !== "recall"),
    }),
});

function withoutMemory(message: BaseMessage): BaseMessage {
  if (message.getType() !== "human") return message;
  const strip = (text: string) => text.replace(/<longhaul-memory[\s\S]*?<\/longhaul-memory>/g, "");
  const { content } = message;
  if (typeof content === "string") return new HumanMessage(strip(content));
  const blocks = content.map((block) =>
    "text" in block && typeof block.text === "string" ? { ...block, text: strip(block.text) } : block,
  );
  // A part that was all memory would be an empty one, which providers refuse.
  const kept = blocks.filter((block) => !("text" in block) || String(block.text).trim() !== "");
  return new HumanMessage({ content: kept } as ConstructorParameters<typeof HumanMessage>[0]);
}

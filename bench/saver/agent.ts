import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type AIMessageFields, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MessagesDeltaValue, StateSchema } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { createAgent } from "langchain";
import { z } from "zod";
import { prose } from "./words.ts";

/** Tool calls of one step, in parallel. With their results a step is about 2,500 tokens of four characters. */
const CALLS = 3;
const RESULT_CHARS = 3_000;
const TEXT_CHARS = 500;

export const THREAD = { configurable: { thread_id: "bench" } } as const;

/** Answers by script: `steps` turns with parallel calls, then a last word. What it says depends on the turn only. */
class Scripted extends BaseChatModel {
  readonly #steps: number;

  constructor(steps: number) {
    super({});
    this.#steps = steps;
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]) {
    const turn = messages.filter((message) => message.type === "ai").length;
    const isLast = turn >= this.#steps;
    const fields = {
      id: `msg-${turn.toString(16).padStart(24, "0")}`,
      content: prose(turn + 1, TEXT_CHARS),
      tool_calls: isLast ? [] : callsOf(turn),
      usage_metadata: {
        input_tokens: 1_000 + turn * 2_500,
        output_tokens: 220,
        total_tokens: 1_220 + turn * 2_500,
      },
      response_metadata: {
        model_provider: "openai",
        model_name: "gpt-4o-mini",
        finish_reason: isLast ? "stop" : "tool_calls",
      },
    };
    // the fields' type wants a tool set that a script has not
    const message = new AIMessage(fields as unknown as AIMessageFields);
    return { generations: [{ text: "", message }] };
  }
}

function callsOf(turn: number) {
  return Array.from({ length: CALLS }, (_, i) => ({
    name: "look",
    args: {
      seed: turn * 10 + i,
      path: `/repo/${prose(turn * 7 + i, 24)
        .trim()
        .replace(/\s+/g, "/")}.ts`,
    },
    id: `call_${turn}_${i}`,
    type: "tool_call" as const,
  }));
}

const look = tool(async ({ seed }: { seed: number; path: string }) => prose(seed + 1_000_000, RESULT_CHARS), {
  name: "look",
  description: "Reads something.",
  schema: z.object({ seed: z.number(), path: z.string() }),
});

/** `delta`: messages in LangGraph's channel that stores what each step adds. */
export function agentOn(checkpointer: BaseCheckpointSaver, steps: number, { delta = false } = {}) {
  const model = new Scripted(steps);
  if (!delta) return createAgent({ model, tools: [look], checkpointer });
  return createAgent({
    model,
    tools: [look],
    checkpointer,
    stateSchema: new StateSchema({ messages: MessagesDeltaValue }),
  }) as unknown as ReturnType<typeof createAgent>;
}

export async function runAgent(
  checkpointer: BaseCheckpointSaver,
  steps: number,
  options: { readonly delta?: boolean } = {},
): Promise<BaseMessage[]> {
  const config = { ...THREAD, recursionLimit: 10 * steps + 25, durability: "sync" as const };
  const agent = agentOn(checkpointer, steps, options);
  const result = await agent.invoke({ messages: [{ role: "user", content: "Go." }] }, config);
  return result.messages as BaseMessage[];
}

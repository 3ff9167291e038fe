import type { StructuredToolInterface } from "@langchain/core/tools";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import {
  checkRequest,
  replyParts,
  type Script,
  StrictRuleError,
  type WireMessage,
  type WireTool,
} from "@longhaul/test-kit";

export interface LoopResult {
  readonly finalText: string;
  readonly steps: number;
  readonly transcript: readonly WireMessage[];
}

/** The plainest agent loop, on wire messages; `visible` is its whole context management. */
export async function simpleLoop(options: {
  readonly script: Script;
  readonly tools: readonly StructuredToolInterface[];
  readonly systemPrompt: string;
  readonly goal: string;
  readonly visible?: (history: readonly WireMessage[]) => readonly WireMessage[];
  readonly maxSteps?: number;
}): Promise<LoopResult> {
  const tools = options.tools.map((tool) => convertToOpenAITool(tool) as WireTool);
  const history: WireMessage[] = [{ role: "user", content: options.goal }];
  for (let steps = 1; steps <= (options.maxSteps ?? 400); steps++) {
    const seen = options.visible?.(history) ?? history;
    const messages: WireMessage[] = [{ role: "system", content: options.systemPrompt }, ...seen];
    const broken = checkRequest(messages);
    if (broken) throw new StrictRuleError(broken);
    const reply = await options.script({ messages, tools });
    if (reply instanceof Error) throw reply;
    const { content, toolCalls = [] } = replyParts(reply);
    const calls = toolCalls.map(({ name, args }, i) => ({
      id: `call_${steps}_${i}`,
      type: "function" as const,
      function: { name, arguments: JSON.stringify(args) },
    }));
    history.push({
      role: "assistant",
      content: String(content ?? ""),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    });
    if (calls.length === 0) return { finalText: String(content), steps, transcript: history };
    for (const [i, { name, args }] of toolCalls.entries()) {
      const tool = options.tools.find((it) => it.name === name);
      const result = tool ? await tool.invoke(args) : `There is no tool ${name}.`;
      history.push({ role: "tool", tool_call_id: calls[i]?.id ?? "", content: String(result) });
    }
  }
  throw new Error("The loop did not end.");
}

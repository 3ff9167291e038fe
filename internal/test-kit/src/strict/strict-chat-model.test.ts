import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callTools } from "../script/reply.ts";
import { wireText } from "../wire/wire-message.ts";
import { StrictChatModel } from "./strict-chat-model.ts";

const add = tool(async ({ a, b }: { a: number; b: number }) => String(a + b), {
  name: "add",
  description: "Adds",
  schema: z.object({ a: z.number(), b: z.number() }),
});

describe("StrictChatModel", () => {
  it("drives createAgent by a function of the request and records what it was sent", async () => {
    const model = new StrictChatModel({
      script: ({ messages, tools }) => {
        const last = messages.at(-1);
        if (last?.role === "tool") return `sum ${messages.slice(-2).map(wireText).join(" ")}`;
        return callTools([tools[0]?.function.name ?? "", { a: 1, b: 2 }], ["add", { a: 3, b: 4 }]);
      },
    });
    const agent = createAgent({ model, tools: [add], systemPrompt: "You add." });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] });
    expect(messages.at(-1)?.text).toBe("sum 3 7");
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.messages.map((message) => message.getType())).toEqual([
      "system",
      "human",
      "ai",
      "tool",
      "tool",
    ]);
    const usage = usageOf(messages.at(-1));
    expect(usage?.input_tokens).toBe(model.requests[1]?.tokens);
  });

  it("streams text, calls and usage that add up to the whole answer", async () => {
    const model = new StrictChatModel({
      script: [{ content: "let me see", toolCalls: [{ name: "add", args: { a: 1, b: 2 }, id: "c1" }] }],
    });
    let whole: AIMessageChunk | undefined;
    let pieces = 0;
    for await (const piece of await model.bindTools([add]).stream([new HumanMessage("go")])) {
      whole = whole ? whole.concat(piece as AIMessageChunk) : (piece as AIMessageChunk);
      pieces++;
    }
    expect(pieces).toBeGreaterThan(4);
    expect(whole?.text).toBe("let me see");
    expect(whole?.tool_calls).toMatchObject([{ name: "add", args: { a: 1, b: 2 }, id: "c1" }]);
    expect(usageOf(whole)?.input_tokens).toBe(model.requests[0]?.tokens);
  });

  it("throws for a broken rule, for a scripted error and when the sequence is used up", async () => {
    const model = new StrictChatModel({ script: ["one", new RangeError("scripted")], windowTokens: 20 });
    await expect(model.invoke([new HumanMessage("x".repeat(200))])).rejects.toMatchObject({
      code: "STRICT_RULE",
      broken: { rule: 9 },
    });
    await expect(model.invoke([new HumanMessage("a")])).resolves.toMatchObject({ content: "one" });
    await expect(model.invoke([new HumanMessage("a")])).rejects.toThrow(RangeError);
    await expect(model.invoke([new HumanMessage("a")])).rejects.toThrow("2 replies");
    await expect(model.invoke([new HumanMessage("a"), new SystemMessage("late")])).rejects.toMatchObject({
      broken: { rule: 1 },
    });
    expect(model.requests).toHaveLength(5);
  });

  it("remembers the signed blocks that it gave", async () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "c2ln" };
    const model = new StrictChatModel({
      script: [new AIMessage({ content: [thinking, { type: "text", text: "so" }] }), "x", "y"],
    });
    const answer = await model.invoke([new HumanMessage("a")]);
    await model.invoke([new HumanMessage("a"), answer, new HumanMessage("b")]);
    const changed = new AIMessage({ id: "other", content: [{ ...thinking, thinking: "cut" }] });
    await expect(model.invoke([new HumanMessage("a"), changed, new HumanMessage("b")])).rejects.toMatchObject(
      { broken: { rule: 7 } },
    );
  });

  it("reports the cached part of a growing request, and no usage when told so", async () => {
    const model = new StrictChatModel({ script: () => "ok" });
    const long = new HumanMessage("word ".repeat(2_000));
    const first = await model.invoke([long]);
    const second = await model.invoke([long, first, new HumanMessage("next")]);
    expect(usageOf(first)?.input_token_details?.cache_read).toBe(0);
    expect(usageOf(second)?.input_token_details?.cache_read).toBeGreaterThan(2_300);
    const silent = new StrictChatModel({ script: () => "ok", reportUsage: false });
    expect((await silent.invoke([long])).usage_metadata).toBeUndefined();
  });
});

function usageOf(message: BaseMessage | undefined): UsageMetadata | undefined {
  return (message as { readonly usage_metadata?: UsageMetadata } | undefined)?.usage_metadata;
}

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Command, isCommand, Send } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeResult, encodeResult, NotStorable } from "./stored-result.ts";

const roundTrip = (value: unknown, callId = "call_2") =>
  decodeResult(JSON.parse(JSON.stringify(encodeResult(value, "call_1"))), callId);

describe("stored results", () => {
  it("D1: a tool message keeps all its fields and answers the new call id", () => {
    const message = new ToolMessage({
      content: [{ type: "text", text: "charged" }],
      artifact: { id: 7 },
      name: "charge",
      status: "success",
      tool_call_id: "call_1",
      additional_kwargs: { trace: "t" },
    });
    const back = roundTrip(message) as ToolMessage;
    expect(ToolMessage.isInstance(back)).toBe(true);
    expect(back).toMatchObject({
      content: message.content,
      artifact: { id: 7 },
      name: "charge",
      status: "success",
      tool_call_id: "call_2",
      additional_kwargs: { trace: "t" },
    });
  });

  it("D1: a Command keeps its update, target and messages; only the answer to its own call is re-addressed", () => {
    const back = roundTrip(
      new Command({
        graph: Command.PARENT,
        goto: [new Send("writer", { topic: "x" })],
        update: {
          balance: 5,
          messages: [
            new ToolMessage({ content: "done", tool_call_id: "call_1" }),
            new ToolMessage({ content: "other", tool_call_id: "call_9" }),
            new HumanMessage("hi"),
            new AIMessage({ content: "", tool_calls: [{ id: "x", name: "t", args: { a: 1 } }] }),
          ],
        },
      }),
    ) as Command;
    expect(isCommand(back)).toBe(true);
    expect(back.graph).toBe(Command.PARENT);
    expect((back.goto as Send[])[0]).toMatchObject({ node: "writer", args: { topic: "x" } });
    const update = back.update as {
      balance: number;
      messages: [ToolMessage, ToolMessage, HumanMessage, AIMessage];
    };
    expect(update.balance).toBe(5);
    expect(update.messages.map((m) => m.getType())).toEqual(["tool", "tool", "human", "ai"]);
    expect(update.messages[0].tool_call_id).toBe("call_2");
    expect(update.messages[1].tool_call_id).toBe("call_9");
    expect(update.messages[3].tool_calls).toMatchObject([{ id: "x", args: { a: 1 } }]);
  });

  it("data that looks like a tag, a constructor or a prototype comes back as data", () => {
    const hostile = {
      $longhaul: "command",
      goto: "elsewhere",
      nested: [{ $longhaul: "message", type: "human", data: { content: "x" } }],
      lc: { lc: 1, type: "constructor", id: ["a"] },
    };
    expect(roundTrip(hostile)).toEqual(hostile);
    const proto = JSON.parse('{"__proto__":{"polluted":true}}') as object;
    expect(Object.hasOwn(roundTrip(proto) as object, "__proto__")).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("any JSON value comes back equal", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(roundTrip(plain)).toEqual(plain);
      }),
      { seed: 7 },
    );
  });

  it("what JSON cannot hold is refused, never altered silently", () => {
    for (const value of [new Date(), () => 1, Number.NaN, 1n, { a: new Map() }, Symbol("x")])
      expect(() => encodeResult(value, undefined)).toThrow(NotStorable);
  });
});

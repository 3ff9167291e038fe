import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { addressAnswer, carryOver, describeInput, restoreInput } from "./admitted-input.ts";

const digestOf = (input: unknown) => describeInput(input).admitted.digest;
const ID = "9dee246f832a9953b78bddd93a449166";

describe("describeInput", () => {
  it("knows the same words in every form that LangChain takes", () => {
    const forms = [
      { messages: [new HumanMessage("go")] },
      { messages: [new HumanMessage({ content: "go", id: "given-later" })] },
      { messages: [{ role: "user", content: "go" }] },
      { messages: [["human", "go"]] },
      { messages: "go" },
      { messages: ["human", "go"] },
    ];
    expect(new Set(forms.map(digestOf)).size).toBe(1);
  });

  it("tells other words, other fields and other kinds apart", () => {
    const inputs = [
      { messages: [new HumanMessage("go")] },
      { messages: [new HumanMessage("go"), new HumanMessage("on")] },
      { messages: [new HumanMessage("go")], lang: "en" },
      { total: 1 },
      { total: "1" },
      new Command({ resume: "go" }),
      new Command({ resume: { a: 1 } }),
    ];
    expect(new Set(inputs.map(digestOf)).size).toBe(inputs.length);
    expect(describeInput(undefined)).toEqual(describeInput(null));
  });

  it("never changes the input", () => {
    const message = new HumanMessage("go");
    const input = Object.freeze({ messages: Object.freeze([message]) });
    describeInput(input);
    expect(message.id).toBeUndefined();
  });

  it("stores what JSON can give back, and says when it cannot", () => {
    const input = {
      messages: [new HumanMessage({ content: [{ type: "text", text: "é\u0000" }], id: "x" })],
      n: 1,
    };
    const stored = JSON.parse(JSON.stringify(describeInput(input).admitted.stored));
    const restored = restoreInput(stored) as typeof input;
    expect(restored.n).toBe(1);
    expect(restored.messages[0]?.toDict()).toEqual(input.messages[0]?.toDict());
    expect(HumanMessage.isInstance(restored.messages[0])).toBe(true);
    expect(restoreInput(describeInput({ total: 3 }).admitted.stored)).toEqual({ total: 3 });
    expect(restoreInput(describeInput(new Command({ resume: "yes" })).admitted.stored)).toEqual(
      new Command({ resume: "yes" }),
    );
    for (const value of [{ at: new Date(0) }, { f: () => 1 }, { n: Number.NaN }, { big: 1n }]) {
      expect(describeInput(value).admitted.stored).toBeNull();
      expect(restoreInput(null)).toBeUndefined();
    }
  });
});

describe("carryOver", () => {
  it("keeps earlier messages first and later fields last", () => {
    const merged = carryOver(
      { messages: [new HumanMessage("a")], mode: 1, extra: true },
      { messages: [new HumanMessage("b")], mode: 2 },
    );
    expect(merged).toMatchObject({ mode: 2, extra: true, messages: [{ content: "a" }, { content: "b" }] });
  });

  it("leaves inputs without messages alone", () => {
    expect(carryOver({ total: 1 }, { total: 2 })).toEqual({ total: 2 });
    const tool = new ToolMessage({ content: "x", tool_call_id: "1" });
    expect(carryOver({ messages: [tool] }, { total: 2 })).toEqual({ total: 2 });
  });
});

describe("addressAnswer", () => {
  it("names the one question that is open", () => {
    expect(addressAnswer(new Command({ resume: "yes" }), [{ id: ID }])).toEqual(
      new Command({ resume: { [ID]: "yes" } }),
    );
    expect(addressAnswer(new Command({ resume: { decisions: [] } }), [{ id: ID }])).toEqual(
      new Command({ resume: { [ID]: { decisions: [] } } }),
    );
  });

  it("leaves what is addressed or ambiguous", () => {
    const addressed = new Command({ resume: { [ID]: "no" } });
    expect(addressAnswer(addressed, [{ id: ID }])).toBe(addressed);
    const plain = new Command({ resume: "yes" });
    expect(addressAnswer(plain, [{ id: ID }, { id: `${ID.slice(1)}0` }])).toBe(plain);
    expect(addressAnswer(plain, [{ value: "no id" }])).toBe(plain);
  });
});

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { WireMessage } from "../wire/wire-message.ts";
import { BASELINE_EXEMPTIONS, checkRequest, type StrictOptions, type StrictRule } from "./strict-rules.ts";

const human = (text = "do it") => new HumanMessage(text);
const ai = (text: string, ...ids: string[]) =>
  new AIMessage({
    content: text,
    tool_calls: ids.map((id) => ({ id, name: "t", args: {}, type: "tool_call" })),
  });
const tool = (id: string, text = "ok") => new ToolMessage({ tool_call_id: id, content: text });
const system = () => new SystemMessage("be good");

const broken = (messages: readonly (BaseMessage | WireMessage)[], options?: StrictOptions) =>
  checkRequest(messages, options)?.rule;

describe("checkRequest", () => {
  it("lets good requests pass", () => {
    expect(broken([human()])).toBeUndefined();
    expect(
      broken([system(), human(), ai("", "a", "b"), tool("b"), tool("a"), ai("done"), human("more")]),
    ).toBe(undefined);
    expect(
      broken([
        { role: "system", content: "s" },
        { role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", type: "function", function: { name: "t", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "1", content: "x" },
      ]),
    ).toBeUndefined();
  });

  const cases: readonly [StrictRule, string, readonly (BaseMessage | WireMessage)[]][] = [
    [1, "a second system message", [system(), system(), human()]],
    [1, "a late system message", [human(), system()]],
    [1, "a developer message behind", [human(), { role: "developer", content: "x" }]],
    [2, "nothing but a system message", [system()]],
    [2, "nothing at all", []],
    [2, "an assistant message first", [system(), ai("hello"), human()]],
    [2, "a tool message first", [tool("a"), human()]],
    [2, "two human messages in a row", [human(), human()]],
    [3, "a dangling call at the end", [human(), ai("", "a")]],
    [3, "a dangling call beside an answered one", [human(), ai("", "a", "b"), tool("a"), human()]],
    [3, "an answer behind another role", [human(), ai("", "a"), human(), tool("a")]],
    [3, "an answer given twice", [human(), ai("", "a"), tool("a"), tool("a")]],
    [4, "an orphan behind a human message", [human(), tool("a")]],
    [4, "an orphan beside the right answer", [human(), ai("", "a"), tool("a"), tool("z")]],
    [5, "an id used in two messages", [human(), ai("", "a"), tool("a"), ai("", "a"), tool("a")]],
    [6, "an empty human message", [human("")]],
    [6, "a blank assistant message", [human(), ai(" \n")]],
    [6, "an empty result", [human(), ai("", "a"), tool("a", "")]],
    [6, "no parts", [human(), new AIMessage({ content: [] })]],
    [
      6,
      "an empty part beside a full one",
      [
        new HumanMessage({
          content: [
            { type: "text", text: "" },
            { type: "text", text: "x" },
          ],
        }),
      ],
    ],
    [8, "half an emoji", [human("cut \ud83d")]],
    [8, "half an emoji in a key of the arguments", [human(), callWith({ "\ude00": 1 }), tool("a")]],
    [8, "half an emoji in an argument", [human(), callWith({ deep: ["\ude00"] }), tool("a")]],
  ];
  it.each(cases)("rule %i: %s", (rule, _title, messages) => {
    expect(broken(messages)).toBe(rule);
    expect(broken(messages, { exempt: [rule] })).not.toBe(rule);
  });

  it("rule 5: two equal ids in one message", () => {
    expect(broken([human(), ai("", "a", "a"), tool("a"), tool("a")])).toBe(5);
  });

  it("rule 7: signed blocks must keep their bytes, and stay", () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "c2ln" };
    const original = new AIMessage({ id: "m1", content: [thinking, { type: "text", text: "so" }] });
    const kept = (content: AIMessage["content"], id?: string) =>
      new AIMessage({ ...(id ? { id } : {}), content });
    const check = (message: AIMessage) => broken([human(), message], { originals: [original] });
    expect(check(original)).toBeUndefined();
    expect(check(kept([thinking, { type: "text", text: "so" }]))).toBeUndefined();
    expect(check(kept([{ type: "text", text: "other" }]))).toBeUndefined();
    expect(check(kept([{ ...thinking, thinking: "hm…" }], "m1"))).toBe(7);
    expect(check(kept([{ signature: "c2ln", thinking: "hm", type: "thinking" }]))).toBe(7);
    expect(check(kept([{ type: "text", text: "so" }], "m1"))).toBe(7);
  });

  it("rule 9: the window counts system prompt and tools", () => {
    const messages = [system(), human("x".repeat(400))];
    expect(broken(messages, { windowTokens: 120 })).toBeUndefined();
    expect(broken(messages, { windowTokens: 100 })).toBe(9);
    const tools = [{ type: "function" as const, function: { name: "t", description: "y".repeat(200) } }];
    expect(broken(messages, { windowTokens: 120, tools })).toBe(9);
    expect(broken([human("字".repeat(101))], { windowTokens: 101 })).toBe(9);
    expect(broken(messages, { windowTokens: 10, countTokens: () => 9 })).toBeUndefined();
  });

  it("baselines may put human messages in a row, but not start with another role", () => {
    expect(broken([human(), human("")], { exempt: BASELINE_EXEMPTIONS })).toBeUndefined();
    expect(broken([ai("x")], { exempt: BASELINE_EXEMPTIONS })).toBe(2);
  });
});

function callWith(args: Record<string, unknown>): AIMessage {
  return new AIMessage({ content: "", tool_calls: [{ id: "a", name: "t", args, type: "tool_call" }] });
}

import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { areArgumentsCut } from "./cut-arguments.ts";

const cut = '{"order":"O-7 to the no';
const partial = { order: "O-7 to the no" };
const whole = { order: "O-7 to the north" };
const call = (args: Record<string, unknown>) => ({ id: "c1", name: "ship", args });
const wire = (text: string) => ({
  tool_calls: [{ id: "c1", type: "function" as const, function: { name: "ship", arguments: text } }],
});
const message = (args: Record<string, unknown>, rest: object) =>
  new AIMessage({ content: "", tool_calls: [{ ...call(args), type: "tool_call" }], ...rest });

describe("arguments that were cut off", () => {
  it.each<[string, AIMessage]>([
    ["OpenAI's form", message(partial, { additional_kwargs: wire(cut) })],
    [
      "Anthropic's form",
      message(partial, { content: [{ type: "tool_use", id: "c1", name: "ship", input: cut }] }),
    ],
    [
      "streamed chunks",
      new AIMessageChunk({
        content: "",
        tool_call_chunks: [{ id: "c1", name: "ship", args: cut, index: 0, type: "tool_call_chunk" }],
      }) as unknown as AIMessage,
    ],
  ])("are noticed in %s", (_, sent) => {
    expect(areArgumentsCut([sent], call(partial))).toBe(true);
  });

  it.each<[string, AIMessage, Record<string, unknown>]>([
    ["whole arguments", message(whole, { additional_kwargs: wire(JSON.stringify(whole)) }), whole],
    ["arguments that a human completed", message(whole, { additional_kwargs: wire(cut) }), whole],
    ["a provider that sends no text", message(partial, {}), partial],
    ["no arguments", message({}, { additional_kwargs: wire("") }), {}],
    [
      "arguments as an object",
      message(whole, { content: [{ type: "tool_use", id: "c1", input: whole }] }),
      whole,
    ],
  ])("are not: %s", (_, sent, args) => {
    expect(areArgumentsCut([sent], call(args))).toBe(false);
  });

  it("are those of the last call with that id", () => {
    const earlier = message(partial, { additional_kwargs: wire(cut) });
    const later = message(partial, { additional_kwargs: wire(JSON.stringify(partial)) });
    expect(areArgumentsCut([earlier, later], call(partial))).toBe(false);
    expect(areArgumentsCut([], call(partial))).toBe(false);
  });
});

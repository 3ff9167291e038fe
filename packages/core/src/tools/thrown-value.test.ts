import { tool } from "@langchain/core/tools";
import { expect, it } from "vitest";
import { z } from "zod/v4";
import { memoryStorage } from "../storage/memory-storage.ts";
import { guardTools } from "./guard-tools.ts";
import { thrownValue } from "./thrown-value.ts";
import { isForModel, toolErrorMessage } from "./tool-error-message.ts";

class Unreadable extends Error {
  override get message(): string {
    throw new Error("getter");
  }
}
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const textOf = (answer: unknown) => String((answer as { content?: unknown } | undefined)?.content);

const odd: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["undefined", undefined],
  ["an object without prototype", Object.create(null)],
  [
    "an object that refuses to be text",
    {
      toString() {
        throw 1;
      },
    },
  ],
  ["an error with a throwing getter", new Unreadable()],
  ["an error with an unreadable cause", new Error("x", { cause: Object.create(null) })],
  ["a revoked proxy", revoked()],
];

it.each(odd)(
  "D7: a tool that throws %s leaves no claim open, and its equal call is answered",
  async (_what, thrown) => {
    const storage = memoryStorage();
    let runs = 0;
    const act = tool(
      async () => {
        runs++;
        throw thrown;
      },
      { name: "act", description: "x", schema: z.object({}) },
    );
    const [guarded] = guardTools([act], { storage, tools: { act: { effect: "record", keyOf: () => "K" } } });
    const call = { type: "tool_call" as const, id: "c", name: "act", args: {} };
    const config = { configurable: { thread_id: "t" } };
    await expect(guarded?.invoke(call, config)).rejects.toThrow(/threw/);
    expect(textOf(await guarded?.invoke(call, config))).toMatch(/threw/);
    const states: string[] = [];
    for await (const { record } of storage.effects.list("t")) states.push(record.state);
    expect({ states, runs }).toEqual({ states: ["committed"], runs: 1 });
  },
);

it.each(odd)("%s becomes an error result for the model", (_what, thrown) => {
  expect(isForModel(thrown, undefined)).toBe(true);
  expect(toolErrorMessage(thrown, { id: "c", name: "act" }).status).toBe("error");
});

it.each([["boom"], [42], [Symbol("s")], [new Error("x")], [{ code: "E" }]])(
  "%s stays what it is",
  (thrown) => {
    expect(thrownValue(thrown)).toBe(thrown);
  },
);

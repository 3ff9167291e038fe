import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { StrictChatModel } from "@longhaul/test-kit";
import { createAgent, createMiddleware, providerStrategy, toolStrategy } from "langchain";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod/v4";
import { type LonghaulMiddleware, type LonghaulOptions, longhaul } from "../src/index.ts";

const model = new StrictChatModel({ script: ["done"] });
const look = tool(() => "x", { name: "look", description: "x", schema: z.object({ q: z.string() }) });
const mine = createMiddleware({
  name: "Mine",
  stateSchema: z.object({ visits: z.number().default(0) }),
  wrapModelCall: (request, handler) => handler(request),
});
const Answer = z.object({ city: z.string(), degrees: z.number() });
const ask = { messages: [{ role: "user", content: "hi" }] };

describe("the types of longhaul()", () => {
  it("keep the result's messages and its structured response", async () => {
    const plain = createAgent({ model, tools: [look], middleware: longhaul() });
    const result = await plain.invoke(ask);
    expectTypeOf(result.messages).toExtend<BaseMessage[]>();
    expectTypeOf(result.messages).not.toBeAny();
    expectTypeOf(result).not.toHaveProperty("nonsense");

    const byTool = createAgent({ model, responseFormat: toolStrategy(Answer), middleware: longhaul() });
    expectTypeOf((await byTool.invoke(ask)).structuredResponse).toEqualTypeOf<{
      city: string;
      degrees: number;
    }>();
    const byProvider = createAgent({
      model,
      responseFormat: providerStrategy(Answer),
      middleware: longhaul(),
    });
    expectTypeOf((await byProvider.invoke(ask)).structuredResponse).toEqualTypeOf<{
      city: string;
      degrees: number;
    }>();
  });

  it("leave the caller's own middleware and its state as they are", async () => {
    const agent = createAgent({ model, tools: [look], middleware: [mine, ...longhaul()] });
    const result = await agent.invoke({ ...ask, visits: 3 });
    expectTypeOf(result.visits).toEqualTypeOf<number>();
    expectTypeOf(result.messages).not.toBeAny();
    const behind = createAgent({ model, middleware: [...longhaul({ effects: false }), mine] as const });
    expectTypeOf((await behind.invoke(ask)).visits).toEqualTypeOf<number>();
    // @ts-expect-error: the state knows its keys
    await agent.invoke({ ...ask, visits: "three" });
  });

  it("show Longhaul's private channels neither in input nor in output", async () => {
    const agent = createAgent({ model, middleware: [mine, ...longhaul()] });
    const result = await agent.invoke(ask);
    expectTypeOf<Extract<keyof typeof result, `_longhaul${string}`>>().toBeNever();
  });

  it("know which parts are there", () => {
    const all = longhaul();
    expectTypeOf(all.length).toEqualTypeOf<7>();
    const few = longhaul({ budget: false, loops: false, progress: false });
    expectTypeOf(few.length).toEqualTypeOf<4>();
    expectTypeOf(longhaul({} as LonghaulOptions)).toEqualTypeOf<LonghaulMiddleware>();
  });

  it("refuse an unknown key and a wrong value", () => {
    // @ts-expect-error: no such part
    longhaul({ memory: false });
    // @ts-expect-error: not a kind of effect
    longhaul({ tools: { charge: { effect: "twice" } } });
    // callbacks see the types of their arguments
    longhaul({
      tools: {
        charge: {
          effect: "query",
          check: (args, key) => (args.id === key ? { outcome: "done" } : { outcome: "absent" }),
        },
      },
      events: (event) => expectTypeOf(event.threadId).toEqualTypeOf<string>(),
    });
  });
});

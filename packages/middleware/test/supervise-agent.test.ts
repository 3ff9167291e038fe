import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { memoryStorage, superviseRun } from "@longhaul/core";
import { runStatusMiddleware } from "@longhaul/middleware";
import { callTools, fakeClock, StrictChatModel } from "@longhaul/test-kit";
import { createAgent, tool } from "langchain";
import { expect, it } from "vitest";
import { z } from "zod";

it("tells the model once that it was resumed, keeps the failure in state, and a later success removes it", async () => {
  let down = true;
  const charge = tool(
    () => {
      if (!down) return "charged";
      down = false;
      throw Object.assign(new Error("upstream gone"), { status: 503 });
    },
    { name: "charge", description: "charge", schema: z.object({ amount: z.number() }) },
  );
  const search = tool(() => "found", { name: "search", description: "search", schema: z.object({}) });
  const model = new StrictChatModel({
    script: [callTools(["search"], ["charge", { amount: 3 }]), callTools(["search"]), "done"],
  });
  const statuses: unknown[] = [];
  const agent = createAgent({
    model,
    tools: [charge, search],
    middleware: [runStatusMiddleware()],
    checkpointer: new MemorySaver(),
  });
  const clock = fakeClock({ autoAdvance: true });
  const result = await superviseRun(
    agent,
    { messages: [new HumanMessage("go")] },
    { configurable: { thread_id: "t" } },
    { storage: memoryStorage(), deps: { clock: { ...clock, now: clock.now, sleep: async () => {} } } },
  );
  for await (const state of agent.graph.getStateHistory({ configurable: { thread_id: "t" } })) {
    statuses.unshift((state.values as { _longhaulRun?: { lastFailure?: string } })._longhaulRun?.lastFailure);
  }
  expect(result).toMatchObject({ status: "COMPLETED", stopReason: "final_answer", attempts: 2 });
  expect(result.state.messages.at(-1)?.text).toBe("done");
  const noted = model.requests.map(({ messages }) =>
    messages.some((message) => message.text.includes("has been resumed")),
  );
  expect(noted).toEqual([false, true, false]);
  expect(statuses.filter(Boolean)).toContainEqual("HTTP_503 (retryable) in charge: upstream gone");
  expect(statuses.at(-1)).toBeUndefined();
});

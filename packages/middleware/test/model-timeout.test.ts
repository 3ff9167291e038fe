import { MemorySaver } from "@langchain/langgraph";
import { type LonghaulEvent, ModelTimeoutError, superviseRun } from "@longhaul/core";
import { longhaul, toolGuardMiddleware } from "@longhaul/middleware";
import { fakeClock, StrictChatModel } from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { expect, it } from "vitest";

const input = { messages: [{ role: "user" as const, content: "go" }] };
const config = { configurable: { thread_id: "t" } };

/** A model that hangs the first time, until its signal aborts, if it heeds that at all. */
function hangingModel(heeds: boolean) {
  const calls: (AbortSignal | undefined)[] = [];
  const model = new StrictChatModel({ script: ["done", "done"] });
  const answer = model._generate.bind(model);
  model._generate = async (messages, options) => {
    calls.push((options as { signal?: AbortSignal }).signal);
    if (calls.length > 1) return answer(messages, options);
    return new Promise((_, reject) => {
      if (heeds) options.signal?.addEventListener("abort", () => reject(new Error("aborted, in own words")));
    });
  };
  return { model, calls };
}

it.each([true, false])(
  "a model that hangs is given up after 120 s (it heeds the signal: %s)",
  async (heeds) => {
    const clock = fakeClock();
    const { model, calls } = hangingModel(heeds);
    const events: LonghaulEvent[] = [];
    const guard = toolGuardMiddleware({ deps: { clock }, events: (event) => void events.push(event) });
    const run = createAgent({ model, tools: [], middleware: [guard] }).invoke(input);
    const failed = run.catch((error: unknown) => error);
    while (calls.length === 0) await clock.advance(0);
    await clock.advance(119_999);
    expect(events).toEqual([]);
    await clock.advance(1);
    let error = await failed;
    while (error instanceof Error && !ModelTimeoutError.isInstance(error)) error = error.cause;
    expect(error).toBeInstanceOf(ModelTimeoutError);
    expect(events).toMatchObject([{ type: "model.timed-out", timeoutMs: 120_000 }]);
    if (heeds) expect(calls[0]?.aborted).toBe(true);
  },
);

it("is resumed as a retryable failure, and a run may do without the limit", async () => {
  const { model } = hangingModel(true);
  const agent = createAgent({
    model,
    tools: [],
    checkpointer: new MemorySaver(),
    middleware: longhaul({ toolGuard: { modelTimeoutMs: 20 } }),
  });
  const result = await superviseRun(agent, input, config, { backoff: { delaysMs: [0] }, meter: false });
  expect(result).toMatchObject({
    status: "COMPLETED",
    attempts: 2,
    lastFailure: { class: "retryable", code: "MODEL_TIMEOUT" },
  });
  const clock = fakeClock();
  const free = createAgent({
    model: new StrictChatModel({ script: ["done"] }),
    tools: [],
    middleware: [toolGuardMiddleware({ modelTimeoutMs: false, deps: { clock } })],
  });
  await free.invoke(input);
  expect(clock.slept).toEqual([]);
  expect(() => toolGuardMiddleware({ modelTimeoutMs: 0 })).toThrow("modelTimeoutMs");
});

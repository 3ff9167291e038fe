import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { fakeClock, StrictChatModel } from "@longhaul/test-kit";
// Graphs initialise LangChain's async context on import; a meter lives in them.
import "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import type { LonghaulEvent } from "../events/event.ts";
import { memoryStorage } from "../storage/memory-storage.ts";
import { ActiveTime } from "./active-time.ts";
import { resolveBudgetOptions } from "./budget-options.ts";
import { type BudgetScope, newSeenCalls, runInBudgetScope } from "./budget-scope.ts";
import { longhaulMeter } from "./meter.ts";
import { fitsBudget } from "./scope-spending.ts";

const usageOf = (input_tokens: number, output_tokens: number): UsageMetadata => ({
  input_tokens,
  output_tokens,
  total_tokens: input_tokens + output_tokens,
});

/** Streams what it is told to, and fails where it is told to. */
class ChunkModel extends BaseChatModel {
  readonly #chunks: readonly (AIMessageChunk | Error)[];
  constructor(chunks: readonly (AIMessageChunk | Error)[]) {
    super({ maxRetries: 0 });
    this.#chunks = chunks;
  }
  override _llmType(): string {
    return "chunks";
  }
  override async _generate(): Promise<ChatResult> {
    throw new Error("streams only");
  }
  override async *_streamResponseChunks(
    _messages: unknown,
    _options: unknown,
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of this.#chunks) {
      if (message instanceof Error) throw message;
      const chunk = new ChatGenerationChunk({ message, text: message.text });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

function setUp(limits = {}, parent?: BudgetScope) {
  const storage = memoryStorage();
  const events: LonghaulEvent[] = [];
  const clock = fakeClock();
  const meter = longhaulMeter({ storage, deps: { clock } });
  const scope = (more: Partial<BudgetScope> = {}): BudgetScope => ({
    ledger: storage.budgets,
    key: { thread: "t", run: "t:1" },
    budget: resolveBudgetOptions({ limits }),
    activity: new ActiveTime(clock),
    emit: (event) => events.push({ time: 0, threadId: "t", namespace: "", ...event } as LonghaulEvent),
    parent,
    seen: newSeenCalls(),
    ...more,
  });
  const read = async (run = "t:1") =>
    (await storage.budgets.read({ thread: "t", run })) as NonNullable<
      Awaited<ReturnType<typeof storage.budgets.read>>
    >;
  return { storage, events, meter, scope, read };
}

async function drain(model: BaseChatModel, config?: object): Promise<unknown> {
  try {
    for await (const _chunk of await model.stream("hello", config)) {
      // Only the counting matters.
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

const part = (usage?: UsageMetadata, content = "x") =>
  new AIMessageChunk({ content, ...(usage ? { usage_metadata: usage } : {}) } as never);

describe("longhaulMeter", () => {
  const styles: Record<string, AIMessageChunk[]> = {
    "a running total on each chunk": Array.from({ length: 50 }, (_, i) => part(usageOf(10, i + 1))),
    "what is new on each chunk": Array.from({ length: 50 }, (_, i) => part(usageOf(i === 0 ? 10 : 0, 1))),
    "usage on the last chunk": Array.from({ length: 50 }, (_, i) =>
      part(i === 49 ? usageOf(10, 50) : undefined),
    ),
    "usage on first and last chunk": Array.from({ length: 50 }, (_, i) =>
      part(i === 0 ? usageOf(10, 1) : i === 49 ? usageOf(10, 50) : undefined),
    ),
  };
  for (const [style, chunks] of Object.entries(styles)) {
    it(`E2 counts 10 and 50 of a stream with ${style}`, async () => {
      const { meter, scope, read } = setUp();
      expect(await runInBudgetScope(scope(), meter, () => drain(new ChunkModel(chunks)))).toBeUndefined();
      expect((await read()).totals).toMatchObject({
        inputTokens: 10,
        outputTokens: 50,
        modelCalls: 1,
        estimatedTokens: 0,
      });
    });
  }

  it("E7 counts failed streams, retries, aborts and summaries by kind, and refusals as nothing", async () => {
    const { meter, scope, read } = setUp({ tokens: 400_000 });
    const turn = new StrictChatModel({
      script: () => ({ content: "ok", usage: { inputTokens: 100, outputTokens: 50, cachedTokens: 0 } }),
    });
    for (let i = 0; i < 12; i++) await runInBudgetScope(scope(), meter, () => turn.invoke("go"));
    const summary = new StrictChatModel({
      script: () => ({ content: "s", usage: { inputTokens: 191_000, outputTokens: 1_000, cachedTokens: 0 } }),
    });
    await runInBudgetScope(scope(), meter, () =>
      // As the summariser is called: with callbacks of its own, out of the user's streams.
      summary.invoke("fold", { callbacks: [], tags: ["nostream"], metadata: { longhaul_kind: "summary" } }),
    );
    // A turn whose stream breaks after the input was reported, then its second try.
    const broken = new ChunkModel([part(usageOf(5_000, 0), ""), new Error("socket hang up")]);
    const again = new ChunkModel([part(usageOf(5_000, 40))]);
    const reserved = scope({ reservation: "r1" });
    await runInBudgetScope(reserved, meter, async () => {
      expect(await drain(broken)).toMatchObject({ message: "socket hang up" });
      expect(await drain(again)).toBeUndefined();
    });
    const aborted = new ChunkModel([
      part(usageOf(20, 0), ""),
      ...Array.from({ length: 300 }, () => part(undefined, "word ")),
      Object.assign(new Error("stop"), { name: "AbortError" }),
    ]);
    await runInBudgetScope(scope(), meter, () => drain(aborted));
    const refused = Object.assign(new Error("slow down"), { status: 429 });
    await runInBudgetScope(scope(), meter, () => drain(new ChunkModel([refused])));

    const { byKind, totals, reservations } = await read();
    expect(byKind.summary).toEqual({ calls: 1, tokens: 192_000 });
    expect(byKind.retry).toEqual({ calls: 1, tokens: 5_040 });
    expect(byKind.turn).toEqual({ calls: 15, tokens: 1_800 + 5_000 + 20 + totals.estimatedTokens });
    expect(Math.abs(totals.estimatedTokens - 300)).toBeLessThan(5);
    expect(reservations).toEqual({});
  });

  it("E7 says that a fold does not fit in the rest of the budget", async () => {
    const { meter, scope, storage } = setUp({ tokens: 10_000 });
    await storage.budgets.open({ thread: "t", run: "t:1" });
    await runInBudgetScope(scope(), meter, async () => {
      expect(await fitsBudget(8_000)).toBe(true);
      expect(await fitsBudget(9_000)).toBe(false);
    });
    expect(await fitsBudget(1e9)).toBe(true);
  });

  it("E1 estimates what a provider does not report, and says how much", async () => {
    const { meter, scope, read, events } = setUp();
    const silent = new StrictChatModel({ script: () => ({ content: "word ".repeat(2_400), usage: null }) });
    await runInBudgetScope(scope(), meter, () => drain(silent));
    const { totals, unmeasuredCalls } = await read();
    expect(totals.outputTokens).toBeGreaterThan(2_350);
    expect(totals.estimatedTokens).toBe(totals.inputTokens + totals.outputTokens);
    expect(unmeasuredCalls).toBe(1);
    expect(events.map((event) => event.type)).toEqual(["model.call"]);
  });

  it("E6 counts a call for every budget around it, once", async () => {
    const outer = setUp();
    const parent = outer.scope();
    const child = outer.scope({ parent, key: { thread: "t", run: "t:1>call" } });
    const model = new StrictChatModel({
      script: () => ({ content: "ok", usage: { inputTokens: 40, outputTokens: 10, cachedTokens: 0 } }),
    });
    await runInBudgetScope(parent, outer.meter, () =>
      runInBudgetScope(child, longhaulMeter(), () => model.invoke("go", { callbacks: [outer.meter] })),
    );
    expect((await outer.read()).totals).toMatchObject({ inputTokens: 40, modelCalls: 1 });
    expect((await outer.read("t:1>call")).totals).toMatchObject({ inputTokens: 40, modelCalls: 1 });
  });

  it("counts calls outside a scope for the open run of their thread, and no others", async () => {
    const { meter, storage, read } = setUp();
    await storage.budgets.open({ thread: "t", run: "t:4" });
    const model = new StrictChatModel({
      script: () => new AIMessage({ content: "ok", usage_metadata: usageOf(7, 3) } as never),
    });
    await model.invoke("go", { callbacks: [meter], metadata: { thread_id: "t" } });
    await model.invoke("go", { callbacks: [meter] });
    expect((await read("t:4")).totals).toMatchObject({ inputTokens: 7, outputTokens: 3, modelCalls: 1 });
  });

  it("fails the call when the storage fails: a guard that cannot count must not look like one that counted nothing", async () => {
    const { meter, scope, storage } = setUp();
    const failing = scope({
      ledger: Object.assign(Object.create(storage.budgets), {
        reserve: () => Promise.reject(new Error("disk full")),
      }),
    });
    const model = new StrictChatModel({ script: () => "ok" });
    const { error } = console;
    console.error = () => undefined;
    try {
      await expect(runInBudgetScope(failing, meter, () => model.invoke("go"))).rejects.toThrow("disk full");
    } finally {
      console.error = error;
    }
  });

  it("refuses a storage that is none, at once", () => {
    expect(() => longhaulMeter({ storage: {} as never })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTIONS" }),
    );
  });
});

import { tool } from "@langchain/core/tools";
import { type EffectKind, guardTools } from "@longhaul/core";
import { idempotencyMiddleware, toolGuardMiddleware } from "@longhaul/middleware";
import { callTools, StrictChatModel } from "@longhaul/test-kit";
import { createAgent, createMiddleware } from "langchain";
import { z } from "zod/v4";
import { newPlace, openStorage, removePlace, type Storage } from "./places.ts";

export const FACES = ["guardTools", "createAgent"] as const;
export type Face = (typeof FACES)[number];

export interface Overhead {
  readonly face: Face;
  readonly storage: Storage;
  readonly effect: EffectKind;
  /** Median of what a guarded call takes longer than its body, less the same of a bare call; milliseconds. */
  readonly median: number;
  /** As the median, of the slowest twentieth. */
  readonly p95: number;
  readonly calls: number;
}

interface Timing {
  /** Of each call without the tool's body, in milliseconds. */
  readonly ms: number[];
  /** The body's share of the call that runs. */
  body: number;
}

/** What ledger and guard (claim, commit, time-out, slot) cost a call whose body does nothing, in turns with the bare tool. */
export async function measureOverhead(
  face: Face,
  storage: Storage,
  effect: EffectKind,
  calls: number,
): Promise<Overhead> {
  const place = newPlace(storage);
  const opened = openStorage(place);
  try {
    const measure = face === "guardTools" ? measureTools : measureAgent;
    const options = { storage: opened.storage, tools: { book: { effect } } };
    await measure(undefined, Math.min(calls, 20), "warm-bare");
    await measure(options, Math.min(calls, 20), "warm");
    const bare = await measure(undefined, calls, "bare");
    const guarded = await measure(options, calls, "guarded");
    return {
      face,
      storage,
      effect,
      calls,
      median: quantile(guarded, 0.5) - quantile(bare, 0.5),
      p95: quantile(guarded, 0.95) - quantile(bare, 0.95),
    };
  } finally {
    await opened.end();
    await removePlace(place);
  }
}

type Guards = Parameters<typeof guardTools>[1];

function bookTool(timing: Timing) {
  return tool(
    async ({ order }) => {
      const start = performance.now();
      const answer = await Promise.resolve(`booked ${order}`);
      timing.body = performance.now() - start;
      return answer;
    },
    { name: "book", description: "Books an order", schema: z.object({ order: z.string() }) },
  );
}

async function measureTools(guards: Guards | undefined, calls: number, run: string): Promise<number[]> {
  const timing: Timing = { ms: [], body: 0 };
  const bare = bookTool(timing);
  const [book] = guards ? guardTools([bare], guards) : [bare];
  for (let n = 0; n < calls; n++) {
    const call = { type: "tool_call" as const, id: `${run}-${n}`, name: "book", args: { order: `O-${n}` } };
    await timed(timing, () => book.invoke(call, { configurable: { thread_id: run } }));
  }
  return timing.ms;
}

/** Each call is a step of its own, so that the history grows. */
async function measureAgent(guards: Guards | undefined, calls: number, run: string): Promise<number[]> {
  const timing: Timing = { ms: [], body: 0 };
  const clock = createMiddleware({
    name: "clock",
    wrapToolCall: (request, handler) => timed(timing, async () => handler(request)),
  });
  let step = 0;
  const agent = createAgent({
    model: new StrictChatModel({
      script: () => (step < calls ? callTools(["book", { order: `O-${step++}` }]) : "done"),
    }),
    tools: [bookTool(timing)],
    middleware: guards ? [clock, idempotencyMiddleware(guards), toolGuardMiddleware(guards)] : [clock],
  });
  await agent.invoke(
    { messages: [{ role: "user", content: "Book them all." }] },
    { configurable: { thread_id: run }, recursionLimit: calls * 6 + 20 },
  );
  return timing.ms;
}

async function timed<T>(timing: Timing, call: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await call();
  timing.ms.push(performance.now() - start - timing.body);
  return result;
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

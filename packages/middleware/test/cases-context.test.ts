import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { type LonghaulEvent, memoryStorage } from "@longhaul/core";
import { callTools, type Reply, type Script, StrictChatModel } from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { type LonghaulOptions, longhaul } from "../src/index.ts";

// The cases of context building through the whole chain, with inputs other than those of the unit tests.

const GOOD = JSON.stringify({
  done: "Pages of the ledger were read one after the other and their rows were compared with the report.",
  outputs: [],
  problems: [],
  effect: "",
  open: [],
});
const read = tool(async ({ page }) => `page ${page}: ${`row-${page} of the ledger; `.repeat(40)}`, {
  name: "read",
  description: "Reads a page",
  schema: z.object({ page: z.number() }),
});
const config = (thread = "t") => ({ configurable: { thread_id: thread }, recursionLimit: 500 });
const text = ({ messages }: { readonly messages: readonly BaseMessage[] }) =>
  JSON.stringify(messages.map((m) => m.content));
const bytes = (messages: readonly BaseMessage[]) =>
  JSON.stringify(messages.map((message) => message.toDict()));

interface Setup {
  readonly context?: LonghaulOptions["context"];
  readonly summarizer?: Script | readonly (Reply | Script)[];
  readonly summarizerWindow?: number;
  readonly window?: number;
  readonly tools?: unknown[];
  readonly systemPrompt?: string;
  readonly storage?: LonghaulOptions["storage"];
  readonly originals?: readonly BaseMessage[];
  readonly options?: Partial<LonghaulOptions>;
}

function setup(script: Script | readonly (Reply | Script)[], given: Setup = {}) {
  const events: LonghaulEvent[] = [];
  const storage = given.storage ?? memoryStorage();
  const window = given.window ?? 8_000;
  const model = new StrictChatModel({ script, windowTokens: window, originals: given.originals });
  const summarizer =
    given.summarizer &&
    new StrictChatModel({ script: given.summarizer, windowTokens: given.summarizerWindow ?? 100_000 });
  const agent = createAgent({
    model,
    tools: (given.tools ?? [read]) as never,
    systemPrompt: given.systemPrompt ?? "You keep ledgers.",
    checkpointer: new MemorySaver(),
    middleware: longhaul({
      storage,
      summarizer,
      events: (event) => void events.push(event),
      progress: false,
      loops: false,
      budget: { preset: "complex" },
      context: { window, softLimit: Math.floor(window / 4), ...(given.context as object) },
      ...given.options,
    }),
  });
  const of = <T extends LonghaulEvent["type"]>(type: T) =>
    events.filter((event): event is Extract<LonghaulEvent, { type: T }> => event.type === type);
  const say = (content: string | BaseMessage[], thread?: string) =>
    agent.invoke(
      { messages: typeof content === "string" ? [new HumanMessage(content)] : content } as never,
      config(thread),
    ) as Promise<{ messages: BaseMessage[] }>;
  return { agent, model, summarizer, events, storage, of, say };
}

/** Reads pages, then answers; begins anew for each run of the agent. */
function reader(count: number, answer = "All pages are read."): Script {
  return ({ messages }) => {
    const turn = messages.findLastIndex((message) => message.role === "user");
    const page = messages.slice(turn + 1).filter((message) => message.role === "tool").length;
    return page < count ? callTools(["read", { page: page + 1 }]) : answer;
  };
}
function pager(count: number, answer = "All pages are read."): Script {
  let page = 0;
  return () => (page < count ? callTools(["read", { page: ++page }]) : answer);
}

const calling = (id: string, ...calls: [name: string, args: Record<string, unknown>, id: string][]) =>
  new AIMessage({
    id,
    content: "",
    tool_calls: calls.map(([name, args, callId]) => ({ name, args, id: callId })),
  });
const result = (id: string, content: string, name = "read") =>
  new ToolMessage({ tool_call_id: id, content, name });

describe("A1: no cut falls between a call and its result", () => {
  for (const order of ["c2 first", "c3 first"]) {
    it(`A1: whatever is kept, each message is in the request or was given to the summariser (${order})`, async () => {
      const eight = result("c2", `parcel ${"eight-info ".repeat(700)}END-8`);
      const nine = result("c3", "order nine is LOST-9");
      const history = [
        new HumanMessage("order 7?"),
        calling("a1", ["read", { page: 7 }, "c1"]),
        result("c1", "SHIPPED-7"),
        new AIMessage({ id: "a2", content: "Shipped." }),
        new HumanMessage("and 8, 9?"),
        calling("a3", ["read", { page: 8 }, "c2"], ["read", { page: 9 }, "c3"]),
        ...(order === "c2 first" ? [eight, nine] : [nine, eight]),
      ];
      const marks = ["order 7?", "SHIPPED-7", "Shipped.", "and 8, 9?", "END-8", "LOST-9"];
      const folds = new Set<number>();
      for (let extra = 0; extra <= 8; extra++) {
        const more = Array.from({ length: extra }, (_, i) => [
          calling(`b${i}`, ["read", { page: 20 + i }, `d${i}`]),
          result(`d${i}`, `MARK-${i}; ${"filler of the page; ".repeat(30)}`),
        ]).flat();
        const { say, model, summarizer, of } = setup(["ok"], {
          summarizer: () => GOOD,
          context: { softLimit: 400 },
        });
        await say([...history, ...more]);
        const seen = [...model.requests, ...(summarizer?.requests ?? [])].map(text).join();
        for (const mark of [...marks, ...Array.from({ length: extra }, (_, i) => `MARK-${i}`)])
          expect(seen).toContain(mark);
        const fold = of("fold.done")[0];
        if (fold) folds.add(fold.groups);
      }
      expect(folds.size).toBeGreaterThan(2);
    });
  }
});

describe("A3: the goal", () => {
  it.each([
    "Move table ledger_eu to v3. Never touch ledger_us. Ticket QX-4471.",
    "把表 ledger_eu 迁移到 v3。绝对不要动 ledger_us。工单 QX-4471。",
    "Перенеси таблицу ledger_eu в v3. Не трогай ledger_us. Заявка QX-4471.\n\n```sql\nDROP TABLE x; -- $& $1\n```",
  ])("A3: stands word for word after a poor second summary: %s", async (goal) => {
    let summaries = 0;
    const { say, model, of } = setup(pager(24), {
      // Good for the first fold, which has up to three ranges; then one line that says nothing.
      summarizer: () => (summaries++ < 3 ? GOOD : "assistant read some files"),
    });
    await say(goal);
    expect(of("fold.done").length + of("fold.failed").length).toBeGreaterThanOrEqual(2);
    for (const { messages } of model.requests)
      expect(JSON.stringify(messages[1]?.content)).toContain(JSON.stringify(goal).slice(1, -1));
  });

  it("A3: a prohibition said in passing outlives many later turns and folds", async () => {
    const rules = ["Не трогай ledger_us.", "ledger_us 는 건드리지 마세요.", "Never write to ledger_us."];
    const { say, model, of } = setup(
      ({ messages }) =>
        messages.at(-1)?.role === "tool" ? "ok" : callTools(["read", { page: messages.length }]),
      { context: { softLimit: 700 } },
    );
    await say("Read what I name.");
    for (const rule of rules) await say(rule);
    for (let i = 0; i < 12; i++) await say(`Read page ${i}.`);
    expect(of("fold.done").length).toBeGreaterThan(2);
    for (const rule of rules) expect(text(model.requests.at(-1) as never)).toContain(rule);
  });
});

describe("A4: a summariser that gives no summary", () => {
  it.each<[string, Reply | Script]>([
    ["throws 503", Object.assign(new Error("503 upstream exploded"), { status: 503 })],
    ["empty content", { content: [{ type: "text", text: "" }] }],
    [
      "an HTML error page",
      "<html><head><title>502 Bad Gateway</title></head><body>nginx exploded</body></html>",
    ],
    ["a JSON error", '{"error":{"message":"exploded","type":"server_error"}}'],
    ["only reasoning", { content: [{ type: "reasoning", reasoning: "exploded" }] }],
    ["content filter", { content: "", finishReason: "content_filter" }],
  ])("A4: %s: state as it was, no word of it in the context, a pause", async (_, reply) => {
    const { say, model, summarizer, of } = setup(pager(30), {
      summarizer: typeof reply === "function" ? reply : () => reply,
      window: 32_000,
      context: { window: 32_000, softLimit: 2_000 },
    });
    const { messages } = await say("Read all pages.");
    expect(messages).toHaveLength(62);
    expect(model.requests.map(text).join()).not.toMatch(/exploded|Bad Gateway/);
    expect(of("fold.done")).toHaveLength(0);
    const failed = of("fold.failed");
    expect(failed.length).toBeGreaterThan(1);
    expect(failed.length).toBeLessThan(8);
    // Ranges of one fold are tried side by side; each has one more try.
    const refused = of("summary.refused");
    for (const { calls } of refused) expect(calls).toBe(2);
    expect(summarizer?.requests).toHaveLength(refused.length * 2);
    expect(of("context.reduced")).toHaveLength(0);
  });

  it("A4: above the hard window the old results are cut by rule, and that is said", async () => {
    const { say, model, of } = setup(pager(40), { summarizer: () => "", context: { softLimit: 2_000 } });
    const { messages } = await say("Read all pages.");
    expect(messages.at(-1)?.text).toBe("All pages are read.");
    expect(of("context.reduced").length).toBeGreaterThan(0);
    for (const { tokens } of model.requests) expect(tokens).toBeLessThanOrEqual(8_000);
  });
});

describe("A5: summaries neither nest nor grow", () => {
  it.each<[string, Script | undefined]>([
    ["concatenates", ({ messages }) => messages.map((message) => String(message.content)).join("\n")],
    ["writes one line", () => "assistant read some files"],
    ["is not there", undefined],
  ])("A5 (ii): 8 folds under a cap of 800 tokens with a summariser that %s", async (_, summarizer) => {
    let n = 0;
    const look = tool(
      async () =>
        ++n % 5 === 0
          ? `F${n / 5}: value ${n / 5} of the plan`
          : `nothing of interest here ${"and there ".repeat(20)}`,
      {
        name: "look",
        description: "x",
        schema: z.object({ at: z.number() }),
      },
    );
    const { say, model, of } = setup(
      ({ messages }) => (n < 44 ? callTools(["look", { at: n }]) : `done ${messages.length}`),
      {
        tools: [look],
        ...(summarizer ? { summarizer } : {}),
        context: { softLimit: 2_000, memoryLimit: 800, fold: "eager" },
      },
    );
    await say("Find the facts.");
    expect(of("fold.done").length).toBeGreaterThanOrEqual(8);
    for (const request of model.requests) {
      const sent = text(request);
      expect(sent.match(/<longhaul-memory/g)?.length ?? 0).toBeLessThanOrEqual(1);
      expect(sent).not.toMatch(/‹longhaul-memory/);
    }
    for (const built of of("context.built")) expect(built.memory).toBeLessThanOrEqual(900);
    const last = text(model.requests.at(-1) as never);
    for (let i = 1; i <= 8; i++) expect(last).toContain(`F${i}: value ${i}`);
  });
});

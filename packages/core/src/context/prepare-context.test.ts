import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { checkRequest } from "@longhaul/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemDeps } from "../clock.ts";
import type { EventBody } from "../events/event.ts";
import { groupMessages } from "../messages/groups.ts";
import type { LonghaulValues } from "../state/channels.ts";
import { memoryStorage } from "../storage/memory-storage.ts";
import { type ContextOptions, resolveContextOptions } from "./context-options.ts";
import { historyLayers } from "./layers.ts";
import { EMPTY_MEMORY, readMemoryState } from "./memory-state.ts";
import { isContextOverflow, type PrepareInput, prepareContext } from "./prepare-context.ts";

const GOAL = "Move table ledger_eu to v3. Never touch ledger_us. Ticket QX-4471.";
const storage = () => memoryStorage();

async function prepare(
  state: LonghaulValues & { messages: readonly BaseMessage[] },
  options: ContextOptions = {},
  input: Partial<PrepareInput> = {},
  artifacts = storage().artifacts,
) {
  const events: EventBody[] = [];
  const prepared = await prepareContext({ state, thread: "t", ...input }, resolveContextOptions(options), {
    artifacts,
    emit: (event) => events.push(event),
    deps: systemDeps,
  });
  expect(checkRequest(prepared.view.messages, { originals: state.messages })).toBeUndefined();
  return { ...prepared, events, of: (type: string) => events.filter((event) => event.type === type) };
}

const step = (n: number, ...results: string[]): BaseMessage[] => [
  new AIMessage({
    id: `a${n}`,
    content: `thought ${n}`,
    tool_calls: results.map((_, i) => ({ id: `c${n}_${i}`, name: "lookup", args: { n, i } })),
  }),
  ...results.map((content, i) => new ToolMessage({ tool_call_id: `c${n}_${i}`, name: "lookup", content })),
];

describe("prepareContext", () => {
  it("an identifier that folded steps used again moves to the new end of the index", async () => {
    const entry = (text: string) => ({ text, step: 0, from: "result" as const });
    const memory = { ...EMPTY_MEMORY, identifiers: [entry("CARD-9074831"), entry("ORD-5512")] };
    const messages = [
      new HumanMessage({ id: "h1", content: "Pay." }),
      ...Array.from({ length: 12 }, (_, i) =>
        step(i + 1, `${"x".repeat(300)} ${i === 2 ? "CARD-9074831" : ""}`),
      ),
    ].flat();
    const { update } = await prepare(
      { messages, _longhaulMemory: memory },
      { window: 8_000, softLimit: 600 },
    );
    const { identifiers, cutoff } = readMemoryState(update._longhaulMemory);
    expect(cutoff).toBeDefined();
    expect(identifiers.map(({ text, step }) => [text, step]).slice(0, 2)).toEqual([
      ["ORD-5512", 0],
      ["CARD-9074831", 3],
    ]);
  });

  it("A1: for every possible cut-off the request is valid and each message is either in the view or among what was folded", async () => {
    const messages = [
      new HumanMessage({ id: "h1", content: "order 7?" }),
      ...step(1, "shipped"),
      new AIMessage({ id: "a2", content: "Shipped." }),
      new HumanMessage({ id: "h2", content: "and 8, 9?" }),
      ...step(3, "x".repeat(20_000), "lost").toSpliced(1, 0).toReversed().slice(2),
    ];
    const [answer8, answer9] = step(3, "x".repeat(20_000), "lost").slice(1);
    const call = step(3, "", "")[0] as BaseMessage;
    for (const order of [
      [answer8, answer9],
      [answer9, answer8],
    ]) {
      const history = [...messages.slice(0, 5), call, ...(order as BaseMessage[])];
      for (const cutoff of [undefined, "a1", "a2", "a3"]) {
        const memory = {
          ...EMPTY_MEMORY,
          cutoff,
          shown: { data: [], constraints: 0, limit: 4_000, toStep: 1 },
        };
        const { view } = await prepare({ messages: history, _longhaulMemory: memory });
        const shown = new Set(view.messages.map((message) => message.id));
        const { past } = historyLayers(history, memory);
        const gone = new Set(past.flatMap((group) => group.messages.map((message) => message.id)));
        for (const message of history.filter((m) => m.getType() === "ai"))
          expect(shown.has(message.id) || gone.has(message.id)).toBe(true);
      }
    }
  });

  it("A5: nothing new outside the tail, no summary and the old one stays", async () => {
    const summaries = [
      {
        v: 1 as const,
        tier: 1,
        fromStep: 1,
        toStep: 1,
        done: "Decision: use SQLite",
        outputs: [],
        problems: [],
        effect: "",
        open: [],
        by: "model" as const,
        digest: "d",
      },
    ];
    const memory = {
      ...EMPTY_MEMORY,
      summaries,
      cutoff: "a1",
      shown: { data: [], constraints: 0, limit: 4_000, toStep: 1 },
    };
    const messages = [
      new HumanMessage({ id: "h1", content: GOAL }),
      ...step(1, "ok"),
      ...step(2, "row ".repeat(3_000)),
    ];
    const { update, of } = await prepare(
      { messages, _longhaulMemory: memory },
      { window: 8_000, softLimit: 500, resultLimit: 50_000 },
    );
    expect(of("fold.done")).toHaveLength(0);
    expect(update._longhaulMemory?.summaries ?? summaries).toEqual(summaries);
  });

  it("A9: enough Han characters fold, whatever four characters a token would say", async () => {
    const messages = [
      new HumanMessage({ id: "h1", content: "读表" }),
      ...Array.from({ length: 15 }, (_, i) => step(i + 1, `第${i}页`.repeat(230))).flat(),
    ];
    const { of, view } = await prepare({ messages }, { window: 8_000, hardLimit: 6_000 });
    expect(of("fold.done")).toHaveLength(1);
    expect(view.tokens.total).toBeLessThan(6_000);
    const scaled = [
      new HumanMessage({ id: "h1", content: "读表" }),
      ...Array.from({ length: 5 }, (_, i) => step(i + 1, `第${i}页`.repeat(250))).flat(),
    ];
    const calm = await prepare({ messages: scaled }, { window: 8_000, hardLimit: 6_000, softLimit: 4_500 });
    expect(calm.of("fold.done")).toHaveLength(0);
    const memory = calm.settle({ input_tokens: 7_100 })._longhaulMemory;
    expect(
      (
        await prepare(
          { messages: scaled, _longhaulMemory: memory },
          { window: 8_000, hardLimit: 6_000, softLimit: 4_500 },
        )
      ).of("fold.done"),
    ).toHaveLength(1);
  });

  it("A10: a folded picture is kept by reference, its text in the record, and its base64 nowhere", async () => {
    const data = `data:image/png;base64,${"iVBORw0KGgo".repeat(5_000)}`;
    const picture = new ToolMessage({
      tool_call_id: "c1_0",
      name: "chart",
      content: [
        { type: "text", text: "chart_id=K7" },
        { type: "image_url", image_url: { url: data } },
      ],
    });
    const [call] = step(1, "");
    const messages = [
      new HumanMessage({ id: "h1", content: GOAL }),
      call as BaseMessage,
      picture,
      ...Array.from({ length: 8 }, (_, i) => step(i + 2, "row ".repeat(300))).flat(),
    ];
    const { view, of } = await prepare({ messages }, { window: 8_000, softLimit: 1_500 });
    expect(of("fold.done")).toHaveLength(1);
    const text = JSON.stringify(view.messages);
    expect(text).toContain("K7");
    expect(text).toMatch(/lh-[0-9a-f]{16}: .*(?:image|picture)/i);
    expect(text).not.toContain("iVBORw0KGgo");
  });

  it("a reset archives the summaries of its epoch under a reference", async () => {
    const artifacts = storage().artifacts;
    const messages = [
      new HumanMessage({ id: "h1", content: GOAL }),
      ...Array.from({ length: 9 }, (_, i) => step(i + 1, `row ${i} `.repeat(150))).flat(),
    ];
    const options = { window: 8_000, softLimit: 1_000 };
    const first = await prepare({ messages }, options, {}, artifacts);
    const folded = first.update._longhaulMemory;
    const progress = {
      v: 1 as const,
      doneDigests: [],
      doneAtLastReset: 0,
      resets: 1,
      idle: 0,
      latest: {
        goal: "g",
        facts: [],
        done: ["d"],
        todo: [],
        open: [],
        key: "a9:k",
        step: 9,
        order: 0,
      },
      reset: { key: "a9:r", assistantId: "a9", step: 9 },
    };
    const after = await prepare(
      {
        messages,
        _longhaulMemory: folded,
        _longhaulTask: first.update._longhaulTask,
        _longhaulProgress: progress,
      },
      options,
      {},
      artifacts,
    );
    const memory = after.update._longhaulMemory;
    expect(memory).toMatchObject({ epoch: 1, summaries: [], appliedResets: ["a9:r"], cutoff: "a9" });
    const ref = memory?.pastEpochs[0]?.ref as string;
    expect((await artifacts.get("t", ref))?.content).toContain("Steps 1");
    expect(after.of("reset.applied")).toHaveLength(1);
    const again = await prepare(
      {
        messages,
        _longhaulMemory: memory,
        _longhaulTask: first.update._longhaulTask,
        _longhaulProgress: progress,
      },
      options,
      {},
      artifacts,
    );
    expect(again.of("reset.applied")).toHaveLength(0);
    expect(again.update._longhaulMemory).toBeUndefined();
    expect(JSON.stringify(again.view.messages)).toBe(JSON.stringify(after.view.messages));
  });

  it("an overflow that the provider reports makes the next request smaller, and both updates are one", async () => {
    const messages = [
      new HumanMessage({ id: "h1", content: GOAL }),
      ...Array.from({ length: 6 }, (_, i) => step(i + 1, `${i} `.repeat(1_500))).flat(),
    ];
    const first = await prepare({ messages }, { window: 32_000 });
    expect(first.of("fold.done")).toHaveLength(0);
    const second = await first.afterOverflow();
    expect(second.view.estimated).toBeLessThan(first.view.estimated * 0.8);
    expect(second.update).toMatchObject({
      _longhaulTask: { goal: { text: GOAL } },
      _longhaulMemory: { v: 1 },
    });
    expect(
      isContextOverflow(Object.assign(new Error("maximum context length is 8192 tokens"), { status: 400 })),
    ).toBe(true);
    expect(
      isContextOverflow(
        Object.assign(new Error("x", { cause: { code: "context_length_exceeded", status: 400 } })),
      ),
    ).toBe(true);
    expect(isContextOverflow(Object.assign(new Error("bad key"), { status: 401 }))).toBe(false);
  });

  it("an unchanged step changes no channel", async () => {
    const messages = [new HumanMessage({ id: "h1", content: GOAL }), ...step(1, "ok")];
    const first = await prepare({ messages });
    const next = await prepare({ messages: [...messages, ...step(2, "ok")], ...first.update });
    expect(next.update).toEqual({});
    expect(next.settle({ input_tokens: next.view.estimated })).toEqual({});
  });

  it("any run: every request valid and within its limit, goal word for word, nothing lost, state survives JSON", async () => {
    const result = fc.oneof(
      fc.nat(1_200).map((n) => "word ".repeat(n)),
      fc.nat(500).map((n) => "汉字".repeat(n)),
      fc.constantFrom("", "ok", "lone \ud800", "</longhaul-memory>", "z".repeat(30_000)),
    );
    const turn = fc.record({
      calls: fc.array(
        fc.record({ id: fc.constantFrom("c0", "c1", "c2"), result: fc.option(result, { nil: undefined }) }),
        { maxLength: 3 },
      ),
      human: fc.option(fc.constantFrom("go on", "Never do that.", "x ".repeat(2_000)), {
        nil: undefined,
        freq: 4,
      }),
      note: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 5, maxLength: 25 }),
        fc.boolean(),
        async (turns, eager) => {
          const artifacts = storage().artifacts;
          const options: ContextOptions = {
            window: 12_000,
            softLimit: 2_000,
            fold: eager ? "eager" : "batched",
            constraints: ["Be brief."],
          };
          const messages: BaseMessage[] = [
            new SystemMessage("You migrate."),
            new HumanMessage({ id: "h1", content: GOAL }),
          ];
          let channels: LonghaulValues = {};
          for (const [i, { calls, human, note }] of turns.entries()) {
            const { view, settle } = await prepare({ messages, ...channels }, options, {}, artifacts);
            expect(view.tokens.total).toBeLessThanOrEqual(12_000);
            expect(JSON.stringify(view.messages[1])).toContain(GOAL);
            expect(JSON.stringify(view.messages)).toContain("Be brief.");
            channels = { ...channels, ...settle({ input_tokens: Math.round(view.estimated * 1.15) }) };
            expect(readMemoryState(JSON.parse(JSON.stringify(channels._longhaulMemory)))).toEqual(
              readMemoryState(channels._longhaulMemory),
            );
            const { past, working } = historyLayers(messages, readMemoryState(channels._longhaulMemory));
            expect(past.length + working.length).toBe(groupMessages(messages.slice(1)).length);
            messages.push(
              new AIMessage({
                id: `a${i}`,
                content: `step ${i}`,
                tool_calls: calls.map(({ id }) => ({ id, name: "f", args: {} })),
              }),
            );
            for (const { id, result: content } of calls)
              if (content !== undefined)
                messages.push(new ToolMessage({ tool_call_id: id, name: "f", content }));
            if (note) messages.push(new SystemMessage("idle"));
            if (human) messages.push(new HumanMessage({ id: `t${i}`, content: human }));
          }
        },
      ),
      { seed: 11, numRuns: 40 },
    );
  }, 60_000);
});

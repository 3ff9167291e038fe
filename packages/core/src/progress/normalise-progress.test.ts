import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isKnownSource, type KnownSources, knownSources } from "./known-sources.ts";
import { itemDigest, normaliseProgress } from "./normalise-progress.ts";
import { checkpointSize } from "./trim-checkpoint.ts";

const messages = [
  new HumanMessage("Find the cheapest supplier with SOC 2. Prices are in /data/prices.csv and 报告.md."),
  new AIMessage({
    content: "I guess https://guessed.example/ has it, see notes/guess.txt",
    tool_calls: [
      { name: "fetch_page", args: { url: "https://a.example/pricing" }, id: "call_7", type: "tool_call" },
      {
        name: "checkpoint",
        args: { facts: [{ text: "x", source: "https://made-up.example" }] },
        id: "call_8",
        type: "tool_call",
      },
    ],
  }),
  new ToolMessage({
    content: "A costs 12 a year, see https://a.example/trust.",
    tool_call_id: "call_7",
    name: "fetch_page",
  }),
  new ToolMessage({ content: "Saved.", tool_call_id: "call_8", name: "checkpoint" }),
  new AIMessage({
    content: "",
    tool_calls: [
      { name: "never_ran", args: { url: "https://later.example" }, id: "call_9", type: "tool_call" },
    ],
  }),
];
const known = knownSources(messages, {}, ["checkpoint", "reset"]);

const checkpoint = (given: object) => ({ goal: "g", facts: [], done: [], todo: [], ...given });

describe("knownSources", () => {
  it.each([
    "user",
    "User: first message",
    "https://a.example/pricing",
    "https://a.example/trust",
    "/data/prices.csv",
    "prices.csv",
    "报告.md",
    "call_7",
    "fetch_page",
    "result of fetch_page",
    "tool call call_7",
    "fetch_page (https://a.example/pricing)",
  ])("knows %s", (source) => {
    expect(isKnownSource(source, known)).toBe(true);
  });

  it.each([
    ["", "nothing"],
    ["my own knowledge", "no name"],
    ["memory", "no name"],
    ["https://guessed.example/", "only the model wrote it"],
    ["notes/guess.txt", "only the model wrote it"],
    ["https://made-up.example", "only a checkpoint named it"],
    ["https://later.example", "the call has no answer"],
    ["never_ran", "the call has no answer"],
    ["https://a.example/pri", "a piece of another"],
    ["https://a.example", "the page was not seen, another of the site was"],
    ["rices.csv", "a piece of another"],
    ["call_70", "another call"],
    ["fetch_page (https://b.example/)", "the page was not seen"],
    ["checkpoint", "the tool that saves is no source"],
  ])("does not know %j: %s", (source) => {
    expect(isKnownSource(source, known)).toBe(false);
  });

  it("knows what memory, key data and the last checkpoint hold, where the messages are gone", () => {
    const values = knownSources([], {
      _longhaulMemory: {
        v: 1,
        artifacts: { "lh-0123456789abcdef": { label: "page", chars: 9, step: 1 } },
        identifiers: [{ text: "https://old.example/x", step: 1, from: "result" }],
      },
      _longhaulData: { v: 1, entries: { path: { value: { file: "/tmp/out.csv" }, source: "export" } } },
      _longhaulProgress: {
        latest: { facts: [{ text: "f", source: "https://cited.example" }] },
      },
    } as never);
    for (const source of [
      "lh-0123456789abcdef",
      "https://old.example/x",
      "/tmp/out.csv",
      "export",
      "https://cited.example",
    ]) {
      expect(isKnownSource(source, values)).toBe(true);
    }
  });
});

describe("normaliseProgress", () => {
  it("moves facts without a known source to open, and says which", () => {
    const result = normaliseProgress(
      checkpoint({
        facts: [
          { text: "A costs 12", source: "https://a.example/pricing" },
          { text: "B costs 9" },
          { text: "C costs 5", source: "I think" },
        ],
        open: ["SOC 2 of B"],
      }),
      undefined,
      known,
    );
    expect(result.progress.facts).toEqual([{ text: "A costs 12", source: "https://a.example/pricing" }]);
    expect(result.progress.open).toEqual(["SOC 2 of B", "B costs 9", "C costs 5"]);
    expect(result.unsourced).toEqual(["B costs 9", "C costs 5"]);
    expect(result).toMatchObject({ moved: true, cut: [] });
    expect(result.refused).toBeUndefined();
  });

  it("counts done cumulatively, and a change of dots or capitals is nothing new", () => {
    const first = normaliseProgress(checkpoint({ done: ["Collect A", "Collect B"] }), undefined, known);
    expect(first.doneDigests).toHaveLength(2);
    const previous = { ...first.progress, doneDigests: first.doneDigests };
    const same = normaliseProgress(checkpoint({ done: ["collect a."] }), previous, known);
    expect(same).toMatchObject({ moved: false });
    expect(same.doneDigests).toHaveLength(2);
    const more = normaliseProgress(checkpoint({ done: ["Check C"] }), previous, known);
    expect(more).toMatchObject({ moved: true });
    expect(more.doneDigests).toHaveLength(3);
  });

  it.each([
    ["a new fact", { facts: [{ text: "B costs 9", source: "user" }] }, true],
    ["the same fact", { facts: [{ text: "A costs 12.", source: "fetch_page" }] }, false],
    ["a closed open item", { open: ["one"] }, true],
    ["a reworded open item", { open: ["one", "two, in other words"] }, false],
    ["more open items", { open: ["one", "two", "three"] }, false],
    ["a reordered todo", { open: ["one", "two"], todo: ["b", "a"] }, false],
  ])("%s is progress: %j %s", (_, given, moved) => {
    const previous = checkpoint({
      facts: [{ text: "A costs 12", source: "user" }],
      open: ["one", "two"],
      todo: ["a", "b"],
    }) as never;
    expect(
      normaliseProgress(checkpoint({ open: ["one", "two"], todo: ["a"], ...given }), previous, known).moved,
    ).toBe(moved);
  });

  it("keeps todo, open and facts before old done, and reports what was cut", () => {
    const long = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => `${name} ${i} ${"x".repeat(60)}`);
    const result = normaliseProgress(
      checkpoint({ todo: long("todo", 5), open: long("open", 5), done: long("done", 40) }),
      undefined,
      known,
    );
    expect(result.progress.todo).toHaveLength(5);
    expect(result.progress.open).toHaveLength(5);
    expect(result.progress.done.at(-1)).toMatch(/^done 39 /);
    expect(result.progress.done.length).toBeLessThan(40);
    expect(result.cut).toHaveLength(40 - result.progress.done.length);
    expect(result.cut.every(({ field }) => field === "done")).toBe(true);
    expect(result.doneDigests).toHaveLength(40);
    expect(checkpointSize(result.progress)).toBeLessThanOrEqual(2_000);
  });

  it("refuses what is malformed or empty, with a reason, and keeps the previous", () => {
    const previous = normaliseProgress(checkpoint({ todo: ["a"] }), undefined, known).progress;
    for (const input of [
      undefined,
      null,
      "text",
      [],
      {},
      { goal: 1 },
      checkpoint({ facts: "x" }),
      checkpoint({ done: [" "] }),
    ]) {
      const result = normaliseProgress(input, previous, known);
      expect(result.refused).toEqual(expect.any(String));
      expect(result.progress).toEqual(previous);
      expect(result.moved).toBe(false);
    }
  });

  it("holds its rules for any input", () => {
    const everything: KnownSources = { names: new Set(["user"]), texts: [] };
    const text = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 300 }),
      fc.string({ unit: "binary", maxLength: 50 }),
    );
    const list = fc.array(text, { maxLength: 30 });
    const input = fc.record({
      goal: text,
      facts: fc.array(fc.record({ text, source: fc.constantFrom("user", "", "nowhere") }), { maxLength: 15 }),
      done: list,
      todo: list,
      open: list,
    });
    fc.assert(
      fc.property(input, fc.constantFrom(200, 500, 2_000), (given, limit) => {
        const before = JSON.stringify(given);
        const result = normaliseProgress(given, undefined, everything, limit);
        expect(JSON.stringify(given)).toBe(before);
        expect(checkpointSize(result.progress)).toBeLessThanOrEqual(limit);
        expect(JSON.stringify(result.progress).isWellFormed()).toBe(true);
        expect(result.progress.facts.every(({ source }) => source === "user")).toBe(true);
        // nothing disappears unsaid
        const kept = new Set(
          [...result.progress.todo, ...result.progress.done, ...result.progress.open].map(itemDigest),
        );
        if (result.cut.length === 0 && !result.refused) {
          for (const item of [...given.todo, ...given.done, ...given.open].map((it) =>
            it.toWellFormed().trim(),
          )) {
            if (item !== "") expect(kept).toContain(itemDigest(item));
          }
        }
        // the same again is no progress, even when not all of it fitted
        if (!result.refused) {
          const previous = { ...result.progress, doneDigests: result.doneDigests };
          expect(normaliseProgress(given, previous, everything, limit)).toMatchObject({
            moved: false,
            progress: result.progress,
          });
        }
      }),
      { seed: 11, numRuns: 100 },
    );
  });
});

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, Send } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import type { CompactSaver } from "@longhaul/checkpointer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

const meta = { source: "loop" as const, step: 0, parents: {} };
const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };
const key = new Uint8Array(32).fill(7);

async function put(saver: CompactSaver, parent: RunnableConfig, n: number, values: Record<string, unknown>) {
  const versions = Object.fromEntries(
    Object.keys(values).map((channel) => [channel, saver.getNextVersion(undefined)]),
  );
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(n),
    channel_values: values,
    channel_versions: versions,
  };
  return saver.put(parent, checkpoint, { ...meta, step: n, note: "\ud800 \u0000" } as never, versions);
}

async function linesOf(saver: CompactSaver, threadId = "t"): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of saver.exportThread(threadId)) lines.push(line);
  return lines;
}

const VALUES = {
  messages: [
    new HumanMessage({ id: "h", content: "question" }),
    new AIMessage({
      id: "a",
      content: "x".repeat(2_000),
      tool_calls: [{ id: "c", name: "f", args: { $ref: "not a reference" } }],
    }),
    new ToolMessage({ id: "t", content: "r", tool_call_id: "c", artifact: new Map([[1, new Set([2n])]]) }),
  ],
  odd: {
    $ref: "x",
    $tokens: "1,0",
    $: 1,
    __proto__x: 1,
    2: "two",
    1: "one",
    "": "",
    undefined: undefined,
    nan: Number.NaN,
    minus: -0,
    infinity: Number.POSITIVE_INFINITY,
    big: 10n,
    nul: "\u0000",
    lone: "\udfff",
    date: new Date(5),
    bad: new Date(Number.NaN),
    url: new URL("https://example.org/a"),
    regexp: /a"b/gi,
    bytes: Buffer.from([1, 2, 255]),
    typed: new Float64Array([1.5, -0]),
    error: new RangeError("no", { cause: new Error("why") }),
    lc: { lc: 1, type: "constructor" },
    // biome-ignore lint/suspicious/noSparseArray: what is tested
    sparse: [1, , 3],
    nested: [[[[{ deep: ["x".repeat(700)] }]]]],
    null: Object.assign(Object.create(null), { a: 1 }),
  },
  long: Array.from({ length: 400 }, (_, i) => ({ n: i, text: `item ${i}` })),
  huge: "z".repeat(200_000),
};

async function fill(saver: CompactSaver) {
  const first = await put(saver, root, 1, { note: "first" });
  const second = await put(saver, first, 2, VALUES);
  await saver.putWrites(
    second,
    [
      ["messages", VALUES.messages],
      ["__error__", { message: "m" }],
    ],
    "task",
    "path, 1",
  );
  await saver.putWrites(
    second,
    [
      ["__pregel_tasks", new Send("n", VALUES.odd)],
      ["x", new Command({ resume: 1 })],
    ],
    "other",
  );
  const fork = await put(saver, first, 3, { note: "fork" });
  const child = await put(saver, { configurable: { ...root.configurable, checkpoint_ns: "a:1|b" } }, 4, {
    inner: [1],
  });
  await saver.mark(second, "marked");
  const ref = await saver.artifacts.put("t", "content\ud800", { kind: "k", label: "l" });
  return { configs: [first, second, fork, child], ref };
}

describe("exportThread and importThread", () => {
  it.each([
    ["the same storage", {}],
    ["an encrypted one", { encryptionKey: key }],
  ])("round-trip exactly into %s", async (_name, options) => {
    const from = open(tempFile());
    const { configs, ref } = await fill(from);
    const lines = await linesOf(from);
    const to = open(tempFile(), options);
    await to.importThread(lines);
    for (const config of configs) expect(await to.getTuple(config)).toEqual(await from.getTuple(config));
    expect((await to.artifacts.get("t", ref))?.content).toBe("content\ud800");
    expect((await to.verify()).problems).toEqual([]);
    expect(await to.stats("t")).toMatchObject({
      ...(await from.stats("t")),
      storedBytes: expect.any(Number),
      ratio: expect.any(Number),
    });
    await to.prune("t", { keepLast: 1 });
    expect(await to.getTuple(configs[1] as RunnableConfig)).toBeDefined();
    // the same again, from there
    if (!("encryptionKey" in options)) {
      const again = open(":memory:");
      await again.importThread(lines, { threadId: "renamed" });
      expect((await linesOf(again, "renamed")).length).toBe(lines.length);
    }
  });

  it("is readable: messages, keys and metadata stand in it as JSON", async () => {
    const saver = open(":memory:");
    await put(saver, root, 1, {
      messages: [new HumanMessage({ id: "h", content: "what is it" })],
      plain: { a: [1, "b", null] },
    });
    const lines = (await linesOf(saver)).map((line) => JSON.parse(line));
    expect(lines[0]).toEqual({ kind: "thread", format: "longhaul-thread", version: 1, threadId: "t" });
    expect(lines.find((line) => line.channel === "plain").value).toEqual({ a: [1, "b", null] });
    expect(JSON.stringify(lines.find((line) => line.channel === "messages"))).toContain("what is it");
    expect(lines.find((line) => line.kind === "checkpoint")).toMatchObject({
      parentId: null,
      metadata: { step: 1 },
    });
    expect(lines.at(-1)).toMatchObject({ kind: "end", lines: lines.length - 1 });
  });

  it("grows with what is stored, not with its square", async () => {
    const saver = open(":memory:");
    let config: RunnableConfig = root;
    const messages: AIMessage[] = [];
    for (let n = 1; n <= 120; n++) {
      messages.push(new AIMessage({ id: `m${n}`, content: `${n} `.repeat(300) }));
      config = await put(saver, config, n, { messages: [...messages] });
    }
    const size = (await linesOf(saver)).join("\n").length;
    expect(size).toBeLessThan(4 * JSON.stringify(messages).length);
  });

  it("refuses what is damaged, cut, foreign or there already, with the line, and leaves nothing", async () => {
    const saver = open(":memory:");
    await fill(saver);
    const lines = await linesOf(saver);
    const to = open(":memory:");
    const refusal = async (bad: string[]) => {
      const error = await to.importThread(bad).catch((caught: unknown) => caught);
      expect(await to.stats()).toMatchObject({ chunks: 0, values: 0, writes: 0, checkpoints: 0 });
      for await (const artifact of to.artifacts.list("t")) expect(artifact).toBeUndefined();
      return error;
    };
    for (let end = 0; end < lines.length; end++)
      expect(await refusal(lines.slice(0, end))).toMatchObject({ code: "IMPORT", line: end });
    expect(await refusal(lines.slice(0, -1))).toMatchObject({ code: "IMPORT", line: lines.length - 1 });
    expect(await refusal([...lines.slice(0, 5), ...lines.slice(6)])).toMatchObject({ code: "IMPORT" });
    expect(await refusal([...lines, lines[1] as string])).toMatchObject({
      code: "IMPORT",
      line: lines.length + 1,
    });
    expect(await refusal(["{}"])).toMatchObject({ code: "IMPORT", line: 1 });
    expect(await refusal(["not json"])).toMatchObject({ code: "IMPORT", line: 1 });
    expect(await refusal([])).toMatchObject({ code: "IMPORT" });
    expect(
      await refusal([(lines[0] as string).replace('"version":1', '"version":2'), ...lines.slice(1)]),
    ).toMatchObject({ line: 1 });
    await expect(saver.importThread(lines)).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    await expect(linesOf(saver, "none")).rejects.toMatchObject({ code: "NO_SUCH_CHECKPOINT" });
    await to.importThread(lines);
  });

  it("a changed character anywhere is refused", async () => {
    const saver = open(":memory:");
    await fill(saver);
    const lines = (await linesOf(saver)).map((line) => line.slice(0, 3_000));
    const whole = await linesOf(saver);
    await fc.assert(
      fc.asyncProperty(fc.nat(lines.length - 1), fc.nat(), async (at, position) => {
        const line = whole[at] as string;
        const i = position % line.length;
        const changed = `${line.slice(0, i)}${line[i] === "7" ? "8" : "7"}${line.slice(i + 1)}`;
        const to = open(":memory:");
        const error = await to.importThread(whole.with(at, changed)).catch((caught: unknown) => caught);
        expect(error).toBeInstanceOf(Error);
        expect((await to.stats()).checkpoints).toBe(0);
      }),
      { seed: 7, numRuns: 150 },
    );
  });

  it("any JSON-like state round-trips", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.object({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withSparseArray: true,
          maxDepth: 4,
        }),
        async (state) => {
          const from = open(":memory:");
          const config = await put(from, root, 1, { state });
          const to = open(":memory:");
          await to.importThread(await linesOf(from));
          expect(await to.getTuple(config)).toEqual(await from.getTuple(config));
        },
      ),
      { seed: 11, numRuns: 60 },
    );
  });
});

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Send } from "@langchain/langgraph";
import { emptyCheckpoint, TASKS, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { describe, expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

const meta = { source: "loop" as const, step: 0, parents: {} };
let drawn = 0;

/** Text that does not compress; the same in each run, because where lists are cut follows from their content. */
function noise(chars: number): string {
  const blocks: string[] = [];
  for (let length = 0; length < chars; length += 43) {
    blocks.push(createHash("sha256").update(`noise ${drawn++}`).digest("base64url"));
  }
  return blocks.join("").slice(0, chars);
}

describe("growth", () => {
  it("C19: 300 steps over an unchanged megabyte store it once, also when folds rewrite the list", async () => {
    const path = tempFile();
    const saver = CompactSaver.fromConnString(path);
    const files = { "data.bin": noise(1_000_000) };
    let messages: AIMessage[] = [];
    let config: RunnableConfig = { configurable: { thread_id: "t" } };
    let versions: Record<string, string> = {};
    const last: { config?: RunnableConfig; ids?: (string | undefined)[] } = {};
    for (let step = 0; step < 300; step++) {
      // a list that loses its beginning at each fold, and files whose version changes although they do not
      const kept = step > 0 && step % 75 === 0 ? messages.slice(-10) : messages;
      messages = [...kept, new AIMessage({ id: `m${step}`, content: noise(1_000) })];
      const fresh: Record<string, string> = {
        messages: saver.getNextVersion(versions.messages),
        files: saver.getNextVersion(versions.files),
      };
      versions = { ...versions, ...fresh };
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(step),
        channel_values: { messages, files: { ...files } },
        channel_versions: { ...versions },
      };
      config = await saver.put(config, checkpoint, meta, fresh);
      if (step === 150) Object.assign(last, { config, ids: messages.map((message) => message.id) });
    }
    const before = await saver.stats();
    expect(before.checkpoints).toBe(300);
    expect(before.storedBytes).toBeLessThan(2_200_000);
    const old = (await saver.getTuple(last.config ?? {}))?.checkpoint.channel_values as {
      messages: AIMessage[];
      files: object;
    };
    expect(old.messages.map((message) => message.id)).toEqual(last.ids);
    expect(old.files).toEqual(files);
    await saver.end();
    expect(statSync(path).size).toBeLessThan(4 * 1_300_000);
  });

  it("C19: what a step writes does not grow with the run", async () => {
    const saver = open(":memory:");
    let messages: (AIMessage | ToolMessage)[] = [];
    const start = { ...emptyCheckpoint(), id: uuid6(-1) };
    let config = await saver.put({ configurable: { thread_id: "t" } }, start, meta, {});
    let versions: Record<string, string> = {};
    const written: number[] = [];
    for (let step = 0; step < 400; step++) {
      const { storedBytes } = step % 50 === 0 ? await saver.stats() : { storedBytes: 0 };
      if (step % 50 === 0) written.push(storedBytes);
      const call = new AIMessage({ id: `a${step}`, content: noise(300) });
      const write = async (id: string, values: Record<string, unknown>) => {
        const fresh: Record<string, string> = {};
        for (const channel of Object.keys(values)) fresh[channel] = saver.getNextVersion(versions[channel]);
        versions = { ...versions, ...fresh };
        const checkpoint = {
          ...emptyCheckpoint(),
          id,
          channel_values: values,
          channel_versions: { ...versions },
        };
        config = await saver.put(config, checkpoint, meta, fresh);
      };
      messages = [...messages, call];
      const state = { messages };
      const sends = [0, 1, 2].map((n) => new Send("tools", { ...state, call: { id: `c${step}${n}` } }));
      await saver.putWrites(
        config,
        [["messages", [call]], ...sends.map((send) => [TASKS, send] as [string, Send])],
        `task${step}`,
      );
      await write(uuid6(2 * step), { messages, [TASKS]: sends });
      const result = new ToolMessage({ content: noise(300), tool_call_id: `c${step}0` });
      await saver.putWrites(config, [["messages", [result]]], `tool${step}`);
      // as the messages reducer does
      result.id = result.lc_kwargs.id = `t${step}`;
      messages = [...messages, result];
      await write(uuid6(2 * step + 1), { messages });
    }
    const perStep = written.slice(1).map((bytes, i) => (bytes - (written[i] as number)) / 50);
    const [first, final] = [perStep[0] as number, perStep.at(-1) as number];
    // 600 characters of noise are about 450 bytes; the rest is ids, heads and the path to the end of the list
    expect(first).toBeLessThan(6_000);
    // the path to the end of the list is a logarithm of its length; rewriting the list would be a factor of 15
    expect(final).toBeLessThan(first * 2);
  }, 60_000);

  it.each<[string, (text: string) => string]>([
    ["grows at its end", (text) => text + noise(1_000)],
    ["grows at its beginning", (text) => noise(1_000) + text],
    ["loses its beginning as it grows", (text) => text.slice(1_000) + noise(1_000)],
    ["is edited in its middle", (text) => text.slice(0, 90_000) + noise(1_000) + text.slice(91_000)],
  ])("C19: a long text that %s is not stored anew", async (_, change) => {
    const saver = open(":memory:");
    let text = noise(200_000);
    let config: RunnableConfig = { configurable: { thread_id: "t" } };
    for (let step = 0; step < 60; step++) {
      const version = saver.getNextVersion(undefined);
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(step),
        channel_values: { file: { text } },
        channel_versions: { file: version },
      };
      config = await saver.put(config, checkpoint, meta, { file: version });
      expect((await saver.getTuple(config))?.checkpoint.channel_values.file).toEqual({ text });
      text = change(text);
    }
    // a segment or two for each step, where the whole would be 12 MB
    expect((await saver.stats()).storedBytes).toBeLessThan(2_000_000);
  });

  it("a message is stored once whether it has its id yet or not, and in Send, writes and channel", async () => {
    const saver = open(":memory:");
    const message = new ToolMessage({ content: noise(20_000), tool_call_id: "c" });
    const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const config = await saver.put(root, { ...emptyCheckpoint(), id: uuid6(0) }, meta, {});
    await saver.putWrites(
      config,
      [
        ["messages", [message]],
        [TASKS, new Send("n", { messages: [message] })],
      ],
      "t1",
    );
    const { chunks, rawBytes } = await saver.stats();
    message.id = message.lc_kwargs.id = "id";
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(1),
      channel_values: { messages: [message] },
      channel_versions: { messages: "1" },
    };
    await saver.put(config, checkpoint, meta, { messages: "1" });
    const after = await saver.stats();
    expect(after.chunks - chunks).toBeLessThanOrEqual(1);
    expect(after.rawBytes - rawBytes).toBeLessThan(1_000);
  });

  it("the second reading of a thread's history shares what it has read", async () => {
    const path = tempFile();
    const saver = CompactSaver.fromConnString(path);
    let messages: AIMessage[] = [];
    let config: RunnableConfig = { configurable: { thread_id: "t" } };
    for (let step = 0; step < 60; step++) {
      messages = [...messages, new AIMessage({ id: `m${step}`, content: noise(600) })];
      const version = saver.getNextVersion(undefined);
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(step),
        channel_values: { messages },
        channel_versions: { messages: version },
      };
      config = await saver.put(config, checkpoint, meta, { messages: version });
    }
    await saver.end();
    const reader = open(path);
    const lengths: number[] = [];
    for await (const tuple of reader.list({ configurable: { thread_id: "t" } })) {
      const read = tuple.checkpoint.channel_values.messages as AIMessage[];
      lengths.push(read.length);
      // a reader may do what it likes with its own copy
      for (const message of read) message.content = "spoilt";
    }
    expect(lengths).toEqual(Array.from({ length: 60 }, (_, i) => 60 - i));
    const again = (await reader.getTuple(config))?.checkpoint.channel_values.messages as AIMessage[];
    expect(again.map((message) => message.content)).toEqual(messages.map((message) => message.content));
  });
});

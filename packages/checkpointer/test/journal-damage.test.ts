import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver, DamagedRecordError } from "@longhaul/checkpointer";
import { describe, expect, it } from "vitest";
import { open, tempFile } from "./temp.ts";

const meta = { source: "loop" as const, step: 1, parents: {} };
const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };

async function step(saver: CompactSaver, parent: RunnableConfig, n: number): Promise<RunnableConfig> {
  const version = saver.getNextVersion(undefined);
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(n),
    channel_values: { note: `é日本 ${n}` },
    channel_versions: { note: version },
  };
  const config = await saver.put(parent, checkpoint, meta, { note: version });
  await saver.putWrites(config, [["note", n]], "task");
  return config;
}

/** A folder with a thread of some checkpoints, and its journal's bytes. */
async function fill(steps: number) {
  const path = tempFile("threads");
  const saver = CompactSaver.fromConnString(`file:${path}`);
  let last: RunnableConfig = root;
  for (let n = 1; n <= steps; n++) last = await step(saver, last, n);
  const [name = ""] = readdirSync(path);
  await saver.put({ configurable: { thread_id: "another" } }, emptyCheckpoint(), meta, {});
  await saver.end();
  return { path, last, name, bytes: readFileSync(join(path, name, "journal.jsonl")) };
}

async function damageOf(call: Promise<unknown>): Promise<DamagedRecordError> {
  const error: unknown = await call.catch((reason: unknown) => reason);
  expect(DamagedRecordError.isInstance(error), String(error)).toBe(true);
  return error as DamagedRecordError;
}

describe("a thread's journal", () => {
  it("C16: wherever it is cut, that is damage: nothing begins anew, and nothing is written on top", async () => {
    const { path, name, bytes } = await fill(2);
    const journal = join(path, name, "journal.jsonl");
    const firstLine = bytes.indexOf("\n");
    for (const length of [0, 1, 20, firstLine, firstLine + 1, bytes.length >> 1, bytes.length - 1]) {
      writeFileSync(journal, bytes.subarray(0, length));
      const saver = CompactSaver.fromConnString(`file:${path}`);
      expect((await damageOf(saver.getTuple(root))).place).toMatchObject({ threadId: "t" });
      await damageOf(step(saver, root, 3));
      await damageOf(saver.records.compareAndSet({ collection: "effects", thread: "t", key: "k" }, null, 1));
      expect((await saver.verify()).ok).toBe(false);
      expect(readFileSync(journal).equals(bytes.subarray(0, length))).toBe(true);
      await saver.end();
    }
  });

  it("C16: a flipped bit anywhere in it is damage", async () => {
    const { path, name, bytes } = await fill(1);
    const sound: number[] = [];
    for (let at = 0; at < bytes.length; at++) {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] as number) ^ 1;
      writeFileSync(join(path, name, "journal.jsonl"), copy);
      const saver = CompactSaver.fromConnString(`file:${path}`);
      await saver.getTuple(root).then(
        () => sound.push(at),
        (error: unknown) => expect(DamagedRecordError.isInstance(error), `${at} ${error}`).toBe(true),
      );
      await saver.end();
    }
    expect(sound).toEqual([]);
  });

  it("C16: it is missed when it is gone, and so is what says how long it was when that cannot be read", async () => {
    const { path, name, bytes } = await fill(1);
    const journal = join(path, name, "journal.jsonl");
    rmSync(journal);
    await damageOf(open(`file:${path}`).getTuple(root));
    expect((await open(`file:${path}`).verify()).ok).toBe(false);
    writeFileSync(journal, bytes);
    writeFileSync(join(path, name, "length.json"), "");
    await damageOf(open(`file:${path}`).getTuple(root));
  });

  it("C10: what a crash left of a line was never acknowledged: the run goes on from before it", async () => {
    const { path, last, name, bytes } = await fill(1);
    const before = await open(`file:${path}`).getTuple(root);
    const longer = tempFile("longer");
    cpSync(path, longer, { recursive: true });
    const writer = CompactSaver.fromConnString(`file:${longer}`);
    await step(writer, last, 2);
    await writer.end();
    const more = readFileSync(join(longer, name, "journal.jsonl")).subarray(bytes.length);
    for (const length of [1, 30, more.indexOf("\n")]) {
      const torn = tempFile("torn");
      cpSync(path, torn, { recursive: true });
      appendFileSync(join(torn, name, "journal.jsonl"), more.subarray(0, length));
      const saver = open(`file:${torn}`);
      expect(await saver.getTuple(root)).toEqual(before);
      await saver.putWrites(last, [["note", 9]], "another task");
      const again = open(`file:${torn}`);
      expect((await again.getTuple(root))?.pendingWrites?.length).toBe(2);
      expect((await again.verify()).problems).toEqual([]);
    }
  });
});

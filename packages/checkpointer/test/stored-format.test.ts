import { copyFileSync, readFileSync } from "node:fs";
import { CompactSaver, type CompactSaverOptions, EncryptionError, type Row } from "@longhaul/checkpointer";
import { expect, it } from "vitest";
import { MemoryDriver } from "../src/memory/memory-driver.ts";
import { ARTIFACT, FIRST, FORMAT_1_KEY, META, RECORD, SECOND, WRITES } from "./format-1-state.ts";
import { loadRows } from "./rows.ts";
import { open, tempFile } from "./temp.ts";

/*
 * What the first version of the format wrote. It must be readable for ever: if a test fails here, the change needs a new format version or
 * codec, not new fixtures.
 */
const fixture = (name: string) => new URL(`../fixtures/format-1/${name}`, import.meta.url);

function rowsOf(name: string): Row[] {
  const lines = readFileSync(fixture(name), "utf8").trimEnd().split("\n");
  const bytes = (_: string, value: unknown) => {
    const { base64 } = (value ?? {}) as { base64?: unknown };
    return typeof base64 === "string" ? new Uint8Array(Buffer.from(base64, "base64")) : value;
  };
  return lines.map((line) => JSON.parse(line, bytes) as Row);
}

/** A saver over exactly these rows. */
async function load(name: string, options: CompactSaverOptions): Promise<CompactSaver> {
  const driver = new MemoryDriver({ clock: { now: () => 0 } });
  await loadRows(driver, rowsOf(name));
  return new CompactSaver(driver, options);
}

async function expectAll(saver: CompactSaver): Promise<void> {
  const newest = await saver.getTuple({ configurable: { thread_id: "t" } });
  expect(newest?.checkpoint).toStrictEqual(SECOND);
  expect(newest?.metadata).toEqual(META);
  expect(newest?.parentConfig?.configurable?.checkpoint_id).toBe(FIRST.id);
  const writes = (newest?.pendingWrites ?? []).map(([, channel, value]) => [channel, value] as const);
  expect(new Map(writes)).toStrictEqual(new Map(WRITES));
  const parent = await saver.getTuple({ configurable: { thread_id: "t", checkpoint_id: FIRST.id } });
  expect(parent?.checkpoint).toStrictEqual(FIRST);
  expect((await saver.records.get(RECORD))?.value).toEqual({ done: true, text: "é" });
  expect(await saver.artifacts.get("t", "ref1")).toMatchObject({
    content: "content ".repeat(100),
    meta: ARTIFACT,
  });
  expect((await saver.verify()).ok).toBe(true);
}

it("a SQLite file of format 1 is readable", async () => {
  const path = tempFile();
  copyFileSync(fixture("agent.sqlite"), path);
  await expectAll(open(path));
});

it.each([
  ["plain.jsonl", [0, 1, 2]],
  ["open.jsonl", [0, 3, 4]],
])("plain rows of format 1 are readable: %s, codecs %j", async (file, codecs) => {
  expect(new Set(rowsOf(file).map(({ data }) => data[2]))).toEqual(new Set(codecs));
  await expectAll(await load(file, {}));
});

it.each(["encrypted.jsonl", "open-encrypted.jsonl"])(
  "encrypted rows of format 1 are readable with their key, and with no other: %s",
  async (file) => {
    for (const { data } of rowsOf(file)) expect((data[2] as number) & 0x80).toBe(0x80);
    await expectAll(await load(file, { encryptionKey: FORMAT_1_KEY }));
    for (const options of [{}, { encryptionKey: new Uint8Array(32) }]) {
      const saver = await load(file, options);
      const error: unknown = await saver
        .getTuple({ configurable: { thread_id: "t" } })
        .catch((e: unknown) => e);
      expect(error).toBeInstanceOf(EncryptionError);
    }
  },
);

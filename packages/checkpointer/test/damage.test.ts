import { readFileSync, writeFileSync } from "node:fs";
import { HumanMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver, DamagedRecordError } from "@longhaul/checkpointer";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { open, tempFile, valuesOf } from "./temp.ts";

const meta = { source: "loop" as const, step: 0, parents: {} };
const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };

/** A file with two checkpoints whose second has all kinds of rows. */
async function fill(path: string, compression: "deflate" | "none" = "deflate"): Promise<RunnableConfig> {
  const saver = CompactSaver.fromConnString(path, { compression });
  const values = {
    messages: Array.from(
      { length: 60 },
      (_, i) => new HumanMessage({ id: `m${i}`, content: `${i} ${"words ".repeat(200)}` }),
    ),
    note: "a short value that is not worth packing but has some length",
  };
  const first = await saver.put(root, { ...emptyCheckpoint(), id: uuid6(0) }, meta, {});
  const versions = { messages: "1", note: "1" };
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(1),
    channel_values: values,
    channel_versions: versions,
  };
  const config = await saver.put(first, checkpoint, meta, versions);
  await saver.putWrites(config, [["messages", "w".repeat(3000)]], "task");
  await saver.end();
  return config;
}

/** Changes one row with plain SQL. */
function tamper(
  path: string,
  table: string,
  change: (data: Buffer) => Buffer | undefined,
  where = "1",
): void {
  const database = new Database(path);
  const { data } = database.prepare(`SELECT data FROM ${table} WHERE ${where}`).get() as { data: Buffer };
  const next = change(data);
  if (next) database.prepare(`UPDATE ${table} SET data = ? WHERE ${where}`).run(next);
  else database.prepare(`DELETE FROM ${table} WHERE ${where}`).run();
  database.close();
}

const edit = (at: number, value: number) => (data: Buffer) => {
  const copy = Buffer.from(data);
  copy[at < 0 ? copy.length + at : at] = value;
  return copy;
};
const flip = (data: Buffer) => edit(data.length >> 1, (data[data.length >> 1] as number) ^ 1)(data);
const cut = (data: Buffer) => data.subarray(0, -10);
const empty = () => Buffer.alloc(0);
/** Header with a size of 64 GiB, and a checksum that fits. */
const huge = (data: Buffer) => {
  const header = Buffer.from([0x4c, 1, 1, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]);
  const forged = Buffer.concat([header, data.subarray(8)]);
  forged.writeUInt32BE(crc(forged), 3);
  return forged;
};
const { crc32 } = await import("node:zlib");
const crc = (bytes: Buffer) => crc32(bytes.subarray(7), crc32(bytes.subarray(0, 3)));

describe("damage", () => {
  const changes: [string, (data: Buffer) => Buffer | undefined][] = [
    ["a flipped bit", flip],
    ["a cut end", cut],
    ["an empty blob", empty],
    ["an unknown format version", edit(1, 9)],
    ["an unknown codec", edit(2, 77)],
    ["a declared size of 64 GiB", huge],
    ["a foreign blob", () => Buffer.from('{"plain":"json of someone else"}')],
  ];
  const places: [string, string, string][] = [
    ["heads", "checkpoint_id = (SELECT max(checkpoint_id) FROM heads)", "head"],
    ["channel_values", "channel = 'note'", "value"],
    ["channel_values", "channel = 'messages'", "value"],
    ["chunks", "id = (SELECT max(id) FROM chunks WHERE length(data) > 60)", "chunk"],
    ["writes", "1", "write"],
  ];
  const cases = changes.flatMap(([what, change]) =>
    places.map((place) => [what, place[0], change, place[1]] as const),
  );

  it.each(cases)(
    "C16: %s in %s is a typed error with its place, and nothing is written over it",
    async (_, table, change, where) => {
      const path = tempFile();
      const config = await fill(path);
      tamper(path, table, change, where);
      const saver = open(path);
      const error = await saver.getTuple(root).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(DamagedRecordError.isInstance(error)).toBe(true);
      const { place } = error as DamagedRecordError;
      expect(place).toMatchObject({
        threadId: "t",
        namespace: "",
        checkpointId: config.configurable?.checkpoint_id,
      });
      if (table !== "heads") expect(["messages", "note"]).toContain(place.channel);
      const report = await saver.verify("t");
      expect(report.ok).toBe(false);
      expect(report.problems.length).toBeGreaterThan(0);
      // the sound ancestor can still be read
      expect(
        (await saver.getTuple((await listedParent(saver, config)) ?? config))?.checkpoint.channel_values,
      ).toEqual({});
    },
  );

  async function listedParent(
    saver: CompactSaver,
    config: RunnableConfig,
  ): Promise<RunnableConfig | undefined> {
    for await (const tuple of saver.list(root, { before: config })) return tuple.config;
    return undefined;
  }

  it.each([
    ["channel_values", "channel = 'messages'"],
    ["chunks", "id = (SELECT max(id) FROM chunks WHERE length(data) > 60)"],
  ])("C16: a missing row of %s is damage, not an absent value", async (table, where) => {
    const path = tempFile();
    await fill(path);
    tamper(path, table, () => undefined, where);
    await expect(open(path).getTuple(root)).rejects.toMatchObject({
      code: "DAMAGED_RECORD",
      place: { channel: expect.any(String) },
    });
  });

  it("C16: a damaged ledger record or artifact is never reported as absent", async () => {
    const path = tempFile();
    const saver = CompactSaver.fromConnString(path);
    const key = { collection: "effects", thread: "t", key: "k" };
    await saver.records.compareAndSet(key, null, { state: "committed" });
    const ref = await saver.artifacts.put("t", "text", { kind: "k", label: "l" });
    await saver.end();
    tamper(path, "records", flip);
    tamper(path, "artifacts", flip);
    const again = open(path);
    await expect(again.records.get(key)).rejects.toMatchObject({
      code: "DAMAGED_RECORD",
      place: { record: "effects/k" },
    });
    await expect(again.records.compareAndSet(key, null, 1)).rejects.toMatchObject({ code: "DAMAGED_RECORD" });
    await expect(again.artifacts.get("t", ref)).rejects.toMatchObject({ code: "DAMAGED_RECORD" });
  });

  it("C16: rows of both codecs are readable whatever is set now", async () => {
    const path = tempFile();
    await fill(path, "none");
    const packed = open(path, { compression: "deflate" });
    const tuple = await packed.getTuple(root);
    expect((await valuesOf<{ messages: unknown[] }>(packed, root)).messages.length).toBe(60);
    const versions = { more: "2" };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(2),
      channel_values: { more: "y".repeat(4000) },
      channel_versions: versions,
    };
    await packed.put(tuple?.config ?? root, checkpoint, meta, versions);
    const plain = open(path, { compression: "none" });
    expect((await plain.getTuple(root))?.checkpoint.channel_values).toEqual({ more: "y".repeat(4000) });
    expect((await plain.verify()).ok).toBe(true);
  });

  it("verify finds a missing parent and content at a wrong place", async () => {
    const path = tempFile();
    await fill(path);
    expect(await open(path).verify()).toMatchObject({ ok: true, checkpoints: 2, problems: [] });
    const database = new Database(path);
    database.exec("DELETE FROM heads WHERE checkpoint_id = (SELECT min(checkpoint_id) FROM heads)");
    const rows = database.prepare("SELECT id, data FROM chunks ORDER BY length(data) DESC LIMIT 2").all() as {
      id: number;
      data: Buffer;
    }[];
    database.prepare("UPDATE chunks SET data = ? WHERE id = ?").run(rows[1]?.data, rows[0]?.id);
    database.close();
    const kinds = (await open(path).verify()).problems.map((problem) => problem.kind);
    expect(kinds).toContain("missing-parent");
    expect(kinds.filter((kind) => kind === "damaged")).toHaveLength(1);
  });
});

describe("files that are not ours", () => {
  const refuse = async (path: string, reason: RegExp) => {
    const before = readFileSync(path);
    const saver = open(path);
    await expect(saver.getTuple(root)).rejects.toMatchObject({
      code: "UNREADABLE_TARGET",
      reason: expect.stringMatching(reason),
    });
    await expect(saver.put(root, emptyCheckpoint(), meta, {})).rejects.toMatchObject({
      code: "UNREADABLE_TARGET",
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  };

  it("C16: a text file is refused and left as it is", async () => {
    const path = tempFile();
    writeFileSync(path, "this is no database, it is a diary\n".repeat(40));
    await refuse(path, /not a database/);
  });

  it("C16: another program's database is refused and left as it is", async () => {
    const path = tempFile();
    const other = new Database(path);
    other.exec("CREATE TABLE checkpoints (thread_id TEXT, checkpoint BLOB)");
    other.close();
    await refuse(path, /another program/);
  });

  it("C16: a newer version's file is refused and left as it is", async () => {
    const path = tempFile();
    await fill(path);
    const database = new Database(path);
    database.pragma("user_version = 99");
    database.close();
    await refuse(path, /newer version/);
  });

  it("C16: a folder, a missing folder", async () => {
    await expect(open(tempFile(".")).setup()).rejects.toMatchObject({ code: "UNREADABLE_TARGET" });
    await expect(open(tempFile("none/agent.db")).setup()).rejects.toMatchObject({
      code: "UNREADABLE_TARGET",
    });
  });

  it("a damaged page is a typed error", async () => {
    const path = tempFile();
    await fill(path);
    const bytes = readFileSync(path);
    bytes.fill(0xff, 8192);
    writeFileSync(path, bytes);
    await expect(open(path).getTuple(root)).rejects.toMatchObject({ code: "DAMAGED_RECORD" });
  });
});

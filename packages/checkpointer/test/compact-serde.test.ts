import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { emptyCheckpoint, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import {
  compactSerde,
  DamagedRecordError,
  EncryptionError,
  UnstorableValueError,
} from "@longhaul/checkpointer";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { tempFile } from "./temp.ts";

const KEY = new Uint8Array(32).fill(7);
const META = { source: "loop", step: 1, parents: {} } as const;

const state = () => ({
  odd: [false, 0, "", null, undefined, Number.NaN, -0, Infinity, 10n],
  dates: [new Date(5), new Date(Number.NaN)],
  map: new Map([["k", new Set([1])]]),
  misc: [/a+/gi, new URL("https://a.b/c"), new Uint8Array([0, 255]), Buffer.from("é")],
  error: new Error("outer", { cause: new TypeError("inner") }),
  own: JSON.parse('{"__proto__": {"x": 1}}') as object,
  shaped: { lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: {} },
  text: `a\0b \ud800 ${"lorem ".repeat(20_000)}`,
  messages: [
    new HumanMessage({ content: "h", id: "h1" }),
    new AIMessage({ content: "a", tool_calls: [{ name: "t", args: {}, id: "c", type: "tool_call" }] }),
    new ToolMessage({ content: "r", tool_call_id: "c", artifact: { n: 1n } }),
  ],
});

function saverOn(path: string, serde?: SerializerProtocol): SqliteSaver {
  return new SqliteSaver(new Database(path), serde);
}

async function put(saver: SqliteSaver, threadId: string, values: Record<string, unknown>): Promise<void> {
  const config = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const checkpoint = { ...emptyCheckpoint(), channel_values: values };
  const stored = await saver.put(config, checkpoint, META);
  await saver.putWrites(stored, Object.entries(values), "task");
}

const get = (saver: SqliteSaver, threadId: string) =>
  saver.getTuple({ configurable: { thread_id: threadId } });

it.each([
  ["plain", {}],
  ["encrypted", { encryptionKey: KEY }],
])(
  "C11: SqliteSaver with compactSerde gives values and pending writes back as they were, %s",
  async (_, options) => {
    const path = tempFile();
    await put(saverOn(path, compactSerde(options)), "t", state());
    const tuple = await get(saverOn(path, compactSerde(options)), "t");
    expect(tuple?.checkpoint.channel_values).toStrictEqual(state());
    expect(
      Object.fromEntries((tuple?.pendingWrites ?? []).map(([, channel, value]) => [channel, value])),
    ).toStrictEqual(state());
    expect(tuple?.metadata).toEqual(META);
  },
);

it("a database that SqliteSaver filled before goes on, with a key only on request", async () => {
  const path = tempFile();
  await put(saverOn(path), "old", { n: 1, bytes: new Uint8Array([1, 2]), m: [new HumanMessage("hi")] });
  const tuple = await get(saverOn(path, compactSerde()), "old");
  expect(tuple?.checkpoint.channel_values).toMatchObject({ n: 1, m: [{ content: "hi" }] });
  const locked = await get(saverOn(path, compactSerde({ encryptionKey: KEY })), "old").catch(
    (e: unknown) => e,
  );
  expect(locked).toBeInstanceOf(EncryptionError);
  const both = compactSerde({ encryptionKey: KEY, acceptPlaintext: true });
  expect((await get(saverOn(path, both), "old"))?.checkpoint.channel_values).toMatchObject({ n: 1 });
});

it("C16: a flipped byte, a cut row and a wrong key are typed errors", async () => {
  const serde = compactSerde({ compression: "none" });
  const [type, data] = await serde.dumpsTyped({ a: "some text" });
  const bytes = Buffer.from(Buffer.from(data).toString("latin1"), "base64");
  for (let i = 0; i < bytes.length; i++) {
    const bad = Buffer.from(bytes);
    bad[i] = (bad[i] as number) ^ 1;
    await expect(serde.loadsTyped(type, bad.toString("base64"))).rejects.toBeInstanceOf(DamagedRecordError);
    await expect(serde.loadsTyped(type, bytes.subarray(0, i).toString("base64"))).rejects.toBeInstanceOf(
      DamagedRecordError,
    );
  }
  const [, secret] = await compactSerde({ encryptionKey: KEY }).dumpsTyped("x");
  const other = compactSerde({ encryptionKey: new Uint8Array(32) });
  await expect(other.loadsTyped(type, secret)).rejects.toMatchObject({ code: "ENCRYPTION" });
  await expect(serde.loadsTyped(type, secret)).rejects.toBeInstanceOf(EncryptionError);
});

it("what has no stored form is refused with its path, unknown options at once", async () => {
  const error: unknown = await compactSerde()
    .dumpsTyped({ cb: () => 1 })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnstorableValueError);
  expect((error as UnstorableValueError).path).toBe("value.cb");
  expect(() => compactSerde({ busyWaitMs: 1 } as object)).toThrow(/busyWaitMs/);
});

import { Document } from "@langchain/core/documents";
import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Command, Overwrite, Send } from "@langchain/langgraph";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UnstorableValueError } from "../errors.ts";
import type { Chunk } from "./chunk.ts";
import { chunksToStore } from "./chunk.ts";
import { ClassTable } from "./classes.ts";
import { Decoder, type Fetched } from "./decoder.ts";
import { Encoder } from "./encoder.ts";
import { materialise } from "./materialise.ts";
import { formOf } from "./node.ts";
import { parseLists } from "./references.ts";
import { Sealer } from "./sealer.ts";
import type { StoredText } from "./stored-text.ts";

const sealer = new Sealer({ compression: "deflate" });

class Point {
  x = 1;
  y = [2];
}
class Stranger {}
class OwnDate extends Date {}
class OwnArray extends Array<number> {}
class OwnPattern extends RegExp {}

const classes = () => new ClassTable({ Point });

/** Through bytes, into a process that has seen nothing. */
async function reload(value: unknown, encoder = new Encoder(classes())): Promise<unknown> {
  const form = formOf(encoder.encode(value, "state.x"));
  const stored = new Map(
    chunksToStore(form.chunks, new Set()).map((chunk: Chunk) => [chunk.hash, sealer.seal(chunk.text, "a")]),
  );
  const table = classes();
  const fresh = new Encoder(table);
  const decoder = new Decoder();
  const [text] = await decoder.decode([sealer.unseal(sealer.seal(form.inline, "b"), "b")], async (hashes) => {
    const found = hashes.flatMap((hash): [string, Uint8Array][] => {
      const data = stored.get(hash);
      return data ? [[hash, data]] : [];
    });
    return new Map(
      sealer.unsealAll(found.map(([, data]) => [data, "a"])).flatMap(({ indexes, json }) =>
        parseLists(json).map((tokens, n): [string, Fetched] => {
          const [hash, data] = found[indexes[n] as number] as [string, Uint8Array];
          return [hash, { tokens, text: () => sealer.unseal(data, "a"), chars: 1 }];
        }),
      ),
    );
  });
  const read = materialise(text as StoredText, table, fresh);
  // storing what was read gives the same text and the same chunks
  expect(formOf(fresh.encode(read, "state.x")).inline).toBe(form.inline);
  return read;
}

const refused = (value: unknown): UnstorableValueError => {
  try {
    new Encoder(classes()).encode(value, "state.files");
  } catch (error) {
    if (UnstorableValueError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("was not refused");
};

describe("values", () => {
  const cyclic: Record<string, unknown> = { list: [] };
  const shared = { s: 1 };
  const proto = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "a": 2}') as object;
  const sparse: unknown[] = [1];
  sparse[2] = 3;
  sparse.length = 5;
  const holed: unknown[] = [];
  holed[2] = () => 1;
  const keyed = Object.assign(["m"], { index: 0, groups: undefined });
  const longKeyed = Object.assign(Array.from({ length: 12 }), { index: 0 });
  const invalid = new Date(Number.NaN);
  const nested = new Error("outer", { cause: new TypeError("inner") });
  Object.assign(nested, { code: "E_X", detail: { a: 1 } });
  const assigned = Object.assign(new RangeError("outer"), { cause: nested, name: "Mine" });
  const overlaid = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  const sticky = /a+/giy;
  sticky.lastIndex = 3;

  it.each<[string, unknown]>([
    ["false", false],
    ["zero", 0],
    ["empty", ""],
    ["null", null],
    ["undefined", undefined],
    ["undefined in an object and an array", { a: undefined, b: [undefined, null] }],
    ["numbers without JSON form", [Number.NaN, -0, Infinity, -Infinity, 5e-324, 2 ** 53]],
    ["big integers", [10n, -(2n ** 200n)]],
    ["dates", [new Date(12345), invalid]],
    [
      "maps",
      new Map<unknown, unknown>([
        ["a", 1],
        [{ k: 1 }, new Map([[1, new Set([2])]])],
      ]),
    ],
    ["sets", new Set([1, "1", Number.NaN, { a: 1 }])],
    ["regular expressions", [/x\/y/gu, sticky]],
    ["URLs", new URL("https://a.b/c?d=e#f")],
    ["bytes", [new Uint8Array([0, 255]), Buffer.from("héllo"), new Uint8Array([1, 2, 3, 4]).subarray(1, 3)]],
    ["typed arrays", [new Float64Array([1.5, Number.NaN]), new BigInt64Array([-1n]), new Int16Array([])]],
    ["buffers", [new Uint8Array([7, 8]).buffer, new DataView(new Uint8Array([9, 1]).buffer)]],
    ["views of one buffer", [new Uint8Array(overlaid), new Uint8Array(overlaid, 4)]],
    ["frozen objects", Object.freeze({ a: Object.freeze([1]) })],
    ["sparse arrays", sparse],
    ["a long sparse array", Object.assign(new Array(1_000_000_000), { 5: "x" }).slice(0, 20)],
    ["arrays with keys", keyed],
    ["long arrays with keys", longKeyed],
    ["hostile keys", proto],
    ["no prototype", Object.assign(Object.create(null), { a: { b: 1 } })],
    ["odd characters", { "\0k": "a\0b", "\ud800": "\udfff lone", lit: "\\u0000", emoji: "🦔" }],
    ["shared references", [shared, shared, { deep: shared }]],
    ["errors", nested],
    ["errors with an assigned cause", assigned],
    [
      "class-shaped data",
      [{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: {} }],
    ],
    ["token-shaped data", [[15, "abc", 0], { 0: 18, op: [3, 4] }, '15,"x"']],
    ["an allow-listed class", new Point()],
    ["documents", [new Document({ pageContent: "p", metadata: { a: 1 }, id: "d" })]],
    ["a long string", { text: "lorem ".repeat(50_000), twice: "lorem ".repeat(50_000) }],
    ["a long key", { ["k".repeat(2000)]: 1 }],
    ["a wide object", Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`key${i}`, { i }]))],
  ])("C11: %s come back as they were", async (_, value) => {
    const read = await reload(value);
    expect(read).toStrictEqual(value);
    if (Array.isArray(value)) expect(Object.keys(read as object)).toEqual(Object.keys(value));
  });

  it("C11: a lastIndex, a stack, a cause and an error's own fields come back", async () => {
    const [read, error] = (await reload([sticky, nested])) as [
      RegExp,
      Error & { code: string; detail: object },
    ];
    expect(read.lastIndex).toBe(3);
    expect(error.stack).toBe(nested.stack);
    expect(error.cause).toBeInstanceOf(TypeError);
    expect((error.cause as Error).message).toBe("inner");
    expect([error.code, error.detail]).toEqual(["E_X", { a: 1 }]);
  });

  it("C11: a cause is as visible as it was, and a hidden name is not lost", async () => {
    const hidden = Object.defineProperty(new Error("x"), "name", { value: "Hidden" });
    const read = (await reload([nested, assigned, hidden])) as [Error, Error, Error];
    const keys = read.map((error) => Object.keys(error).includes("cause"));
    expect(keys).toEqual([false, true, false]);
    expect(String(read[2])).toBe("Hidden: x");
  });

  it("C11: `__proto__` stays a key and pollutes nothing", async () => {
    const read = (await reload(proto)) as object;
    expect(Object.hasOwn(read, "__proto__")).toBe(true);
    expect((read as { polluted?: unknown }).polluted).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ["a function", [1, 2, 3, { cb: () => 1 }], "state.files[3].cb"],
    ["a symbol", { a: { "b-c": Symbol("s") } }, 'state.files.a["b-c"]'],
    ["a promise", { p: [Promise.resolve(1)] }, "state.files.p[0]"],
    ["an unknown class", new Map([["k", new Stranger()]]), "state.files.value(0)"],
    ["a subclass of an error", { e: new (class Odd extends Error {})("x") }, "state.files.e"],
    ["a subclass of a date", { d: new OwnDate(1) }, "state.files.d"],
    ["a subclass of a pattern", [new OwnPattern("a")], "state.files[0]"],
    ["fields on a date", [Object.assign(new Date(1), { x: 1 })], "state.files[0]"],
    ["shared memory", { m: new SharedArrayBuffer(4) }, "state.files.m"],
    ["a weak map", new Set([new WeakMap()]), "state.files.item(0)"],
    ["a boxed string", [new String("x")], "state.files[0]"],
    [
      "a class in a message",
      new HumanMessage({ content: "x", additional_kwargs: { a: new Stranger() } }),
      "state.files.additional_kwargs.a",
    ],
    ["after holes", holed, "state.files[2]"],
    ["a symbol as key", { a: { [Symbol("k")]: 1 } }, "state.files.a"],
    ["a symbol on an array", [Object.assign([1], { [Symbol("k")]: 1 })], "state.files[0]"],
    ["a symbol on a map", [Object.assign(new Map(), { [Symbol("k")]: 1 })], "state.files[0]"],
    ["a symbol on a message", [Object.assign(new HumanMessage("x"), { [Symbol("k")]: 1 })], "state.files[0]"],
    ["a subclass of arrays", { a: OwnArray.of(1) }, "state.files.a"],
    [
      "a getter that throws",
      {
        a: [
          {
            get b() {
              throw new Error("no");
            },
          },
        ],
      },
      "state.files.a[0]",
    ],
    [
      "a proxy that throws",
      [
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error("no");
            },
          },
        ),
      ],
      "state.files[0]",
    ],
    ["fields on bytes", { b: Object.assign(new Uint8Array([1]), { x: 1 }) }, "state.files.b"],
    ["fields on a Buffer", { b: Object.assign(Buffer.from("b"), { x: 1 }) }, "state.files.b"],
    ["fields on a buffer", { b: Object.assign(new ArrayBuffer(1), { x: 1 }) }, "state.files.b"],
    ["fields on a map", { m: Object.assign(new Map(), { extra: 1 }) }, "state.files.m"],
  ])("C11: %s is refused with its path", (_, value, path) => {
    expect(refused(value).path).toBe(path);
  });

  it("C11: a cycle is refused with its path, a diamond is not", () => {
    cyclic.list = [1, { back: cyclic }];
    expect(refused(cyclic).path).toBe("state.files.list[1].back");
    expect(() => new Encoder(classes()).encode([shared, { shared }], "state.x")).not.toThrow();
  });

  it("C11: getters, proxies and views of shared memory come back as what they showed", async () => {
    const getter = {
      get a() {
        return 1;
      },
    };
    const memory = new Uint8Array(new SharedArrayBuffer(2)).fill(9);
    const read = await reload([getter, new Proxy({ a: 1 }, {}), new Proxy([1], {}), memory]);
    expect(read).toStrictEqual([{ a: 1 }, { a: 1 }, [1], new Uint8Array([9, 9])]);
  });

  it("a string of 64 MB comes back", async () => {
    const text = "ab".repeat(32 * 1024 * 1024);
    expect((await reload(text)) === text).toBe(true);
  });

  it("100,000 levels come back without overflow", async () => {
    let deep: unknown = "bottom";
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { d: deep };
    let read = await reload(deep);
    let levels = 0;
    while (typeof read === "object" && read !== null) {
      read = Array.isArray(read) ? read[0] : (read as { d: unknown }).d;
      levels++;
    }
    expect([read, levels]).toEqual(["bottom", 100_000]);
  });

  it("any JSON-like value survives, and equal values have equal text", async () => {
    const leaf = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.double(),
      fc.bigInt(),
      fc.boolean(),
      fc.constantFrom(null, undefined),
      fc.date(),
      fc.uint8Array(),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small", maxDepth: 4 },
        leaf,
        fc.array(tie("value"), { maxLength: 12 }),
        fc.dictionary(fc.string({ unit: "binary" }), tie("value"), { maxKeys: 8, noNullPrototype: true }),
        fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 5 }).map((pairs) => new Map(pairs)),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(value, async (sample) => {
        expect(await reload(sample)).toStrictEqual(sample);
      }),
      { seed: 7, numRuns: 150 },
    );
  });
});

describe("messages and graph commands", () => {
  const messages = [
    new SystemMessage("s"),
    new HumanMessage({ content: [{ type: "text", text: "hi" }], id: "h1", name: "bob" }),
    new AIMessage({
      content: "c",
      id: "a1",
      tool_calls: [{ name: "t", args: { q: 1 }, id: "c1", type: "tool_call" }],
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } as never,
      response_metadata: { model_provider: "openai", odd: new Date(3) },
    }),
    new AIMessage({ content: [{ type: "text", text: "v1" }], response_metadata: { output_version: "v1" } }),
    new ToolMessage({ content: "r", tool_call_id: "c1", artifact: { rows: [1n] }, status: "error" }),
    new AIMessageChunk({
      content: "x",
      tool_call_chunks: [{ name: "t", args: '{"a":1}', id: "c", index: 0, type: "tool_call_chunk" }],
    }),
    new RemoveMessage({ id: "gone" }),
  ];

  it.each(messages.map((message) => [message.constructor.name, message] as const))(
    "C11: %s comes back",
    async (_, message) => {
      const read = (await reload([message])) as (typeof message)[];
      expect(read[0]).toStrictEqual(message);
      expect(Object.getPrototypeOf(read[0])).toBe(Object.getPrototypeOf(message));
      expect(Object.keys(read[0]?.lc_kwargs ?? {})).toEqual(Object.keys(message.lc_kwargs));
    },
  );

  it("C11: a changed field beside old constructor arguments comes back, also under an id of later", async () => {
    const message = new AIMessage({ content: "first" });
    message.content = "second";
    message.id = "later";
    const [read] = (await reload([message])) as [AIMessage];
    expect(read).toStrictEqual(message);
    expect([read.content, read.id, read.lc_kwargs.content]).toEqual(["second", "later", "first"]);
  });

  it("C11: a subclass of a message is refused, a stored class that is no longer allowed is an error", async () => {
    class Own extends AIMessage {}
    expect(refused([new Own("x")]).path).toBe("state.files[0]");
    const encoder = new Encoder(new ClassTable({ Point }));
    const [text] = await new Decoder().decode(
      [formOf(encoder.encode(new Point(), "p")).inline],
      async () => new Map(),
    );
    expect(() => materialise(text as StoredText, new ClassTable())).toThrow(/allow-list/);
  });

  it("commands come back in the plain form that LangGraph reads", async () => {
    const send = new Send("tools", { messages: [messages[2]], n: 1n });
    expect(await reload(send)).toEqual({ node: "tools", args: { messages: [messages[2]], n: 1n } });
    const command = new Command({ update: { a: 1 }, goto: ["x", new Send("y", { z: 1 })] });
    expect(await reload(command)).toEqual({
      lg_name: "Command",
      update: { a: 1 },
      goto: ["x", { node: "y", args: { z: 1 } }],
    });
    expect(await reload(new Overwrite([1]))).toEqual({ __overwrite__: [1] });
    expect(await reload(new DeltaSnapshot([1]))).toStrictEqual(new DeltaSnapshot([1]));
  });
});

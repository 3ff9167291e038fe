import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { chunksToStore } from "./chunk.ts";
import { ClassTable } from "./classes.ts";
import { Decoder } from "./decoder.ts";
import { Encoder } from "./encoder.ts";
import { materialise } from "./materialise.ts";
import { formOf, type Item, ValueNode } from "./node.ts";
import { ONE_PIECE, Packer } from "./packer.ts";
import { parseTokens } from "./references.ts";
import type { StoredText } from "./stored-text.ts";

// in one piece, so that a form is the whole text
const fresh = () => new Encoder(new ClassTable(), new Packer(ONE_PIECE));

const make = (extra: object) =>
  new AIMessage({
    id: "a",
    content: "c",
    tool_calls: [{ name: "t", args: { q: [1, { z: 1 }] }, id: "c1", type: "tool_call" }],
    response_metadata: { model: "m", zero: 0, none: Number.NaN },
    additional_kwargs: { extra },
  });
type Made = ReturnType<typeof make>;

/** A message of plain data is known again by its references, one with a Map by its values. */
const KINDS: [string, () => object][] = [
  ["plain data", () => ({ n: 1 })],
  ["a Map", () => new Map([["k", { n: 1 }]])],
];
const inner = ({ additional_kwargs: { extra } }: Made): object =>
  (extra instanceof Map ? extra.get("k") : extra) as object;

function firstItem(item: Item): Item {
  if (!(item instanceof ValueNode)) throw new Error("no container");
  return item.items[0];
}

function reversed(fields: object): object {
  return Object.fromEntries(Object.entries(fields).reverse());
}

function reorder(fields: Record<string, unknown>): void {
  const { model } = fields;
  delete fields.model;
  fields.model = model;
}

describe.each(KINDS)("recognising what was stored, in a message with %s", (_, extra) => {
  it.each<[string, (message: Made) => unknown]>([
    ["content", (m) => Object.assign(m, { content: "d" })],
    ["an argument of a call", (m) => Object.assign(m.tool_calls?.[0]?.args.q[1] ?? {}, { z: 2 })],
    ["a call more", (m) => m.tool_calls?.push({ name: "u", args: {}, id: "c2" })],
    ["a field deep inside", (m) => Object.assign(inner(m), { n: 2 })],
    ["the order of fields", (m) => Object.assign(m, { response_metadata: reversed(m.response_metadata) })],
    ["the order of the fields of the same object", (m) => reorder(m.response_metadata)],
    ["a call less", (m) => m.tool_calls?.pop()],
    ["an item of an array", (m) => m.tool_calls?.[0]?.args.q.splice(0, 1, 2)],
    ["a key of another prototype", (m) => Object.setPrototypeOf(m.response_metadata, { model: "p" })],
    ["a zero", (m) => Object.assign(m.response_metadata, { zero: -0 })],
    ["a NaN", (m) => Object.assign(m.response_metadata, { none: null })],
    ["new metadata", (m) => Object.assign(m, { response_metadata: { model: "n" } })],
    ["a field gone", (m) => delete m.response_metadata.model],
    ["a field added", (m) => Object.assign(m, { mine: 1 })],
    ["the id", (m) => Object.assign(m, { id: "b" })],
    [
      "the id in both places",
      (m) => [Object.assign(m, { id: "b" }), Object.assign(m.lc_kwargs, { id: "b" })],
    ],
    ["a constructor argument alone", (m) => Object.assign(m.lc_kwargs, { content: "z" })],
    ["a constructor argument more", (m) => Object.assign(m.lc_kwargs, { name: undefined })],
    ["a constructor argument less", (m) => delete m.lc_kwargs.content],
    ["undefined instead of absent", (m) => Object.assign(m.additional_kwargs, { u: undefined })],
    ["a negative zero", (m) => Object.assign(m.response_metadata, { zero: -0 })],
  ])("notices a change of %s, and what is stored then is what is there", async (_name, change) => {
    const encoder = fresh();
    const message = make(extra());
    const before = encoder.encode([message], "x");
    for (let i = 0; i < 3; i++) expect(firstItem(encoder.encode([message], "x"))).toBe(firstItem(before));
    change(message);
    const after = formOf(encoder.encode([message], "x")).inline;
    expect(after).not.toBe(formOf(before).inline);
    expect(after).toBe(formOf(fresh().encode([message], "x")).inline);
    const [stored] = await new Decoder().decode([after], async () => new Map());
    expect(materialise(stored as StoredText, encoder.classes)).toStrictEqual([message]);
  });

  it("knows a message again that was read", async () => {
    const short = { ...ONE_PIECE, inlineMax: 100 };
    const given = make(extra());
    const { inline, chunks } = formOf(new Encoder(new ClassTable(), new Packer(short)).encode(given, "x"));
    const stored = new Map(
      chunksToStore(chunks, new Set()).map(({ hash, text }) => [
        hash,
        { tokens: parseTokens(text), text: () => text, chars: 1 },
      ]),
    );
    const encoder = new Encoder(new ClassTable(), new Packer(short));
    const [text] = await new Decoder().decode([inline], async () => stored);
    const message = materialise(text as StoredText, encoder.classes, encoder) as Made;
    const nodes = () => text?.children[0]?.items ?? [];
    // nothing was stored since: there are no nodes yet
    expect(nodes()).toEqual([]);
    const again = encoder.encode(message, "x");
    expect(nodes()).toHaveLength(1);
    expect(again).toBeInstanceOf(ValueNode);
    expect([again, (again as ValueNode).items[3]]).toContain(nodes()[0]);
    message.content = "changed";
    expect(encoder.encode(message, "x")).not.toBe(again);
  });

  it("knows a message again whose metadata is an equal copy, as chat models make it", () => {
    const encoder = fresh();
    const message = make(extra());
    message.response_metadata = { ...message.response_metadata };
    const first = firstItem(encoder.encode([message], "x"));
    expect(firstItem(encoder.encode([message], "x"))).toBe(first);
  });
});

it.each<[string, (list: unknown[]) => unknown]>([
  ["a key", (list) => Object.assign(list, { index: 1 })],
  ["a hole", (list) => delete list[3]],
])("C11: %s that a list got after it was stored, or read, is stored", async (_name, change) => {
  const encoder = fresh();
  const list: unknown[] = Array.from({ length: 12 }, (_, i) => (i === 3 ? undefined : { i }));
  const { inline } = formOf(encoder.encode(list, "x"));
  const [stored] = await new Decoder().decode([inline], async () => new Map());
  const read = materialise(stored as StoredText, encoder.classes, encoder) as unknown[];
  for (const given of [list, read]) {
    change(given);
    const after = formOf(encoder.encode(given, "x")).inline;
    expect(after).toBe(formOf(fresh().encode(given, "x")).inline);
    expect(after).not.toBe(inline);
  }
});

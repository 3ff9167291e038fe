import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DamagedRecordError } from "../errors.ts";
import { type Packed, pack, unpack, unpackAll } from "./codecs.ts";
import { parseTokens } from "./references.ts";

/** Each as it stands in the JSON text that has several. */
function texts(packed: readonly Packed[]): unknown[] {
  const all = new Array<unknown>(packed.length);
  for (const { indexes, json } of unpackAll(packed)) {
    const lists = JSON.parse(json) as unknown[];
    expect(lists.length).toBe(indexes.length);
    for (const [n, i] of indexes.entries()) all[i] = lists[n];
  }
  return all;
}

const words = (length: number) => JSON.stringify("é lorem ipsum, ".repeat(length).slice(0, length));
/** Stored as it is, small enough for the dictionary, larger, larger than what is unpacked in one call. */
const SIZES = [0, 1, 140, 160, 1_900, 2_049, 70_000, 9_000_000];

describe("texts that are packed singly or as many", () => {
  it.each(SIZES)("come back: %i characters", (length) => {
    const packed = pack(words(length), "deflate");
    expect(unpack(packed)).toBe(words(length));
    const list = [JSON.parse(words(length))];
    expect(texts([packed, packed])).toEqual([list, list]);
  });

  it("come back in any mixture", () => {
    const text = fc.oneof(
      fc.array(fc.oneof(fc.string({ unit: "binary", maxLength: 400 }), fc.integer(), fc.boolean())),
      fc.integer({ min: 0, max: 5_000 }).map((length) => [JSON.parse(words(length))]),
      // does not pack
      fc
        .uint8Array({ minLength: 200, maxLength: 3_000 })
        .map((bytes) => [Buffer.from(bytes).toString("base64")]),
    );
    const old = (raw: string): Packed => {
      const bytes = Buffer.from(raw);
      return { codec: 1, payload: deflateRawSync(bytes), size: bytes.length };
    };
    const kind = fc.constantFrom<(raw: string) => Packed>(
      (raw) => pack(raw, "deflate"),
      (raw) => pack(raw, "none"),
      old,
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(text, kind), { maxLength: 12 }), (all) => {
        const packed = all.map(([list, make]) => make(JSON.stringify(list).slice(1, -1)));
        expect(texts(packed)).toEqual(all.map(([list]) => list));
      }),
      { seed: 3, numRuns: 200 },
    );
  });

  it("many of them unpack in several calls", () => {
    const long = Array.from({ length: 300 }, (_, i) => `${i},${words(60_000)}`);
    const packed = long.map((text) => pack(text, "deflate"));
    expect(unpackAll(packed).length).toBeGreaterThan(1);
    expect(texts(packed)).toEqual(long.map((text) => JSON.parse(`[${text}]`)));
  });
});

describe("a damaged text among sound ones", () => {
  const sound = [words(500), words(3_000)].map((text) => pack(text, "deflate"));
  const damage: [string, (packed: Packed) => Packed][] = [
    ["is cut", (p) => ({ ...p, payload: p.payload.subarray(0, -3) })],
    ["is empty", (p) => ({ ...p, payload: Buffer.alloc(0) })],
    ["claims more", (p) => ({ ...p, size: p.size + 1 })],
    ["claims less", (p) => ({ ...p, size: p.size - 1 })],
    ["claims 64 GiB", (p) => ({ ...p, size: 2 ** 36 })],
    ["is none", (p) => ({ ...p, payload: Buffer.from("no deflate stream at all") })],
    [
      "goes on after its end",
      (p) => ({ ...p, payload: Buffer.concat([p.payload, sound[0]?.payload as Buffer]) }),
    ],
  ];
  it.each(
    damage.flatMap(([what, change]) => sound.map((packed, i) => [what, i + 3, change, packed] as const)),
  )("%s: codec %i", (_, codec, change, packed) => {
    expect(packed.codec).toBe(codec);
    const bad = change(packed);
    expect(() => unpack(bad)).toThrow(DamagedRecordError);
    for (const all of [
      [bad],
      [bad, ...sound],
      [...sound, bad],
      [sound[0] as Packed, bad, sound[1] as Packed],
    ]) {
      expect(() => texts(all)).toThrow(DamagedRecordError);
    }
  });
});

it("a text with a bracket of its own is not well-formed, alone or among others", () => {
  expect(parseTokens('"a",1')).toEqual(["a", 1]);
  expect(parseTokens("")).toEqual([]);
  for (const text of ['"a"],["b"', "]", "[", '"a"]', '["a"', '"a'])
    expect(() => parseTokens(text)).toThrow(DamagedRecordError);
});

import { describe, expect, it } from "vitest";
import { canonicalJson, digest, NotCanonicalError } from "./canonical-json.ts";

describe("canonicalJson", () => {
  it("B5, D10: key order and number form do not matter, list order and type do", () => {
    expect(canonicalJson({ path: "a", o: { x: 1, y: [1, 2] } })).toBe(
      canonicalJson({ o: { y: [1, 2], x: 1.0 }, path: "a" }),
    );
    expect(canonicalJson({ y: [2, 1] })).not.toBe(canonicalJson({ y: [1, 2] }));
    expect(canonicalJson({ a: "1" })).not.toBe(canonicalJson({ a: 1 }));
    expect(canonicalJson({ a: 1, b: null })).not.toBe(canonicalJson({ a: 1 }));
    expect(canonicalJson({ a: 1, b: undefined })).toBe(canonicalJson({ a: 1 }));
    expect(canonicalJson("é".normalize("NFC"))).not.toBe(canonicalJson("é".normalize("NFD")));
  });

  it("D10: big integers keep every digit, dates and typed arrays have forms no plain data takes", () => {
    expect(canonicalJson(9007199254740993n)).not.toBe(canonicalJson(9007199254740992n));
    expect(canonicalJson(5n)).not.toBe(canonicalJson("5"));
    expect(canonicalJson(new Date(0))).not.toBe(canonicalJson("1970-01-01T00:00:00.000Z"));
    expect(canonicalJson([Number.NaN, Infinity, -0])).toBe(canonicalJson([Number.NaN, Infinity, 0]));
    expect(
      canonicalJson(
        new Map([
          ["b", 1],
          ["a", 2],
        ]),
      ),
    ).toBe(
      canonicalJson(
        new Map([
          ["a", 2],
          ["b", 1],
        ]),
      ),
    );
    expect(digest(new Uint8Array([1, 2]))).not.toBe(digest(new Uint8Array([2, 1])));
  });

  it("D10: what has no canonical form is refused with its path", () => {
    const cycle: Record<string, unknown> = { a: [1] };
    (cycle.a as unknown[]).push(cycle);
    expect(() => canonicalJson(cycle)).toThrow(NotCanonicalError);
    expect(() => canonicalJson({ a: [() => 1] })).toThrow("$.a[0]");
    let deep: unknown = 1;
    for (let i = 0; i < 5_000; i++) deep = [deep];
    expect(() => canonicalJson(deep)).toThrow(NotCanonicalError);
  });
});

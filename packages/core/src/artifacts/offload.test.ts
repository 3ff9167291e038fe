import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ArtifactStore } from "../storage/artifact-store.ts";
import { MemoryArtifactStore } from "../storage/memory-storage.ts";
import { offloadText, shortenText } from "./offload.ts";

const META = { kind: "tool-result", label: "read\n(page 1)" };
const store = (over: Partial<ArtifactStore>): ArtifactStore => {
  const memory = new MemoryArtifactStore();
  return {
    put: (...args) => memory.put(...args),
    get: (...args) => memory.get(...args),
    list: (...args) => memory.list(...args),
    ...over,
  };
};

describe("offloadText", () => {
  it("A14 (a): stores, reads back, and gives equal content the same reference", async () => {
    const memory = new MemoryArtifactStore();
    const first = await offloadText("t", "long text", META, memory);
    expect(first).toEqual({ ref: expect.stringMatching(/^lh-[0-9a-f]{16}$/) });
    expect(await offloadText("t", "long text", META, memory)).toEqual(first);
    expect(await memory.get("t", (first as { ref: string }).ref)).toMatchObject({
      content: "long text",
      meta: { label: "read (page 1)" },
    });
  });

  it.each([
    ["(b) accepts and loses it", store({ get: async () => undefined })],
    [
      "(b) gives back another text",
      store({ get: async (_, ref) => ({ ref, content: "other", meta: META }) }),
    ],
    ["(c) throws at the write", store({ put: async () => Promise.reject(new Error("disk full")) })],
    ["(c) throws at the read", store({ get: async () => Promise.reject(new Error("disk gone")) })],
  ])("A14 %s: lost, with the reason, no reference", async (_, failing) => {
    const result = await offloadText("t", "long text", META, failing);
    expect(result).toEqual({ lost: true, reason: expect.any(String) });
  });
});

describe("shortenText", () => {
  it("A14: head, tail and how to get the rest; without a reference none is named", () => {
    const text = `HEAD${"x".repeat(900_000)}TAIL`;
    const short = shortenText(text, 8_000, "lh-0123456789abcdef");
    expect(short).toMatch(/^HEAD[\s\S]*recall\({"ref":"lh-0123456789abcdef"}\)[\s\S]*TAIL$/);
    expect(short.length).toBeLessThanOrEqual(8_000);
    expect(shortenText(text, 8_000, undefined)).not.toContain("lh-");
    expect(shortenText("short", 8_000, undefined)).toBe("short");
  });

  it("is within the limit, well-formed, and says truly how much is left out", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 200, maxLength: 900 }),
        fc.integer({ min: 150, max: 700 }),
        (text, limit) => {
          const short = shortenText(text, limit, "lh-0123456789abcdef");
          if (text.length <= limit) {
            expect(short).toBe(text);
            return;
          }
          expect(short.length).toBeLessThanOrEqual(limit);
          expect(short.isWellFormed()).toBe(true);
          const left = Number(/\[… (\d+) of/.exec(short)?.[1]);
          const line = /\n\[… \d+ of \d+ characters left out; .* …\]\n/.exec(short)?.[0] ?? "";
          expect(short.length - line.length).toBe(text.length - left);
        },
      ),
      { seed: 1 },
    );
  });
});

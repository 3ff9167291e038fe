import { describe, expect, it } from "vitest";
import { InvalidOptionsError, StateFormatError } from "../errors.ts";
import { resolveContextOptions } from "./context-options.ts";
import { keepData, readKeyData } from "./key-data.ts";
import { EMPTY_MEMORY, readMemoryState } from "./memory-state.ts";
import { readTaskState } from "./task-state.ts";

describe("values of the context channels", () => {
  it.each([
    ["memory", readMemoryState],
    ["task", readTaskState],
    ["data", readKeyData],
  ])("%s: damaged and newer values are refused, never taken for nothing", (_name, read) => {
    for (const value of ["text", 7, [], { v: 2 }, { v: 1, summaries: "x", goal: {}, entries: null }])
      expect(() => read(value)).toThrow(StateFormatError);
  });

  it("fields that an older version did not write get their empty value", () => {
    expect(readMemoryState({ v: 1, epoch: 3 })).toEqual({ ...EMPTY_MEMORY, epoch: 3 });
    expect(readMemoryState(undefined)).toBe(EMPTY_MEMORY);
    expect(readTaskState(undefined)).toBeUndefined();
  });
});

describe("keepData", () => {
  const config = (sent: unknown[]) => ({
    configurable: { __pregel_send: (writes: unknown[]) => sent.push(...writes) },
  });

  it("sends one entry to the channel, copied", () => {
    const sent: unknown[] = [];
    const value = { id: "REC-1" };
    keepData(config(sent), "record", value, "create");
    value.id = "changed";
    expect(sent).toEqual([
      ["_longhaulData", { v: 1, entries: { record: { value: { id: "REC-1" }, source: "create" } } }],
    ]);
  });

  it("refuses to lose data silently", () => {
    expect(() => keepData(undefined, "a", 1)).toThrow(InvalidOptionsError);
    expect(() => keepData(config([]), " ", 1)).toThrow(InvalidOptionsError);
    expect(() => keepData(config([]), "a", "x".repeat(5_000))).toThrow(InvalidOptionsError);
    expect(() => keepData(config([]), "a", (() => 1) as never)).toThrow(InvalidOptionsError);
  });
});

describe("resolveContextOptions", () => {
  it.each([
    { window: 100 },
    { softLimit: 0 },
    { window: 8_000, hardLimit: 9_000 },
    { window: 8_000, softLimit: 9_000 },
    { fold: "sometimes" },
    { history: "archive" },
    { constraints: [" "] },
    { resultLimit: Number.NaN },
    { summary: { every: 0 } },
  ])("refuses %j at once", (options) => {
    expect(() => resolveContextOptions(options as never)).toThrow(InvalidOptionsError);
  });
});

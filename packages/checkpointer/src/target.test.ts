import { describe, expect, it } from "vitest";
import { CompactSaver } from "./compact-saver.ts";
import { describeTarget, parseTarget } from "./target.ts";

describe("parseTarget", () => {
  it.each([
    ["agent.db", { kind: "sqlite", path: "agent.db", readOnly: false }],
    ["./a b/agent.db", { kind: "sqlite", path: "./a b/agent.db", readOnly: false }],
    ["C:\\data\\agent.db", undefined],
    ["sqlite:agent.db", { kind: "sqlite", path: "agent.db", readOnly: false }],
    ["sqlite:///abs/agent.db?mode=ro", { kind: "sqlite", path: "/abs/agent.db", readOnly: true }],
    [":memory:", { kind: "sqlite", path: ":memory:", readOnly: false }],
    ["sqlite::memory:", { kind: "sqlite", path: ":memory:", readOnly: false }],
    ["what?.db", { kind: "sqlite", path: "what?.db", readOnly: false }],
    ["file:./checkpoints", { kind: "files", path: "./checkpoints" }],
    ["postgres://u:secret@h/db", { kind: "postgres", url: "postgres://u:secret@h/db" }],
    ["rediss://h:1", { kind: "redis", url: "rediss://h:1" }],
  ])("%s", (target, expected) => {
    if (expected) expect(parseTarget(target)).toEqual(expected);
    else expect(parseTarget(target)).toEqual({ kind: "sqlite", path: target, readOnly: false });
  });

  it.each(["", "  ", "sqlite:", "file:", "a\0b", "mysql://h/db", "sqlite:x?mode=odd"])(
    "refuses %j",
    (target) => {
      expect(() => parseTarget(target)).toThrow(/connection|must be/);
    },
  );

  it("names back ends without a driver, and never their password", () => {
    expect(() => CompactSaver.fromConnString("postgres://u:secret@h/db")).toThrow(/Postgres/);
    expect(() => CompactSaver.fromConnString("postgres://u:secret@h/db")).not.toThrow(/secret/);
    expect(describeTarget(parseTarget("redis://u:secret@h:1/2"))).toBe("redis://h:1/2");
  });

  it("refuses options that cannot work", () => {
    const make = (options: object) => () => CompactSaver.fromConnString(":memory:", options);
    expect(make({ compression: "zstd" })).toThrow(/compression/);
    expect(make({ busyWaitMs: -1 })).toThrow(/busyWaitMs/);
    expect(make({ busyWaitMs: Number.NaN })).toThrow(/busyWaitMs/);
    expect(make({ reviveClasses: { A: 1 } })).toThrow(/reviveClasses.A/);
  });
});

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
    [":memory:", { kind: "memory" }],
    ["sqlite::memory:", { kind: "sqlite", path: ":memory:", readOnly: false }],
    ["what?.db", { kind: "sqlite", path: "what?.db", readOnly: false }],
    ["file:./checkpoints", { kind: "files", path: "./checkpoints", readOnly: false }],
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

  it("names a back end without its password", () => {
    expect(describeTarget(parseTarget("redis://u:secret@h:1/2"))).toBe("redis://h:1/2");
    expect(describeTarget(parseTarget("postgres://u:secret@h/db"))).not.toContain("secret");
  });

  it("refuses options that cannot work", () => {
    const make = (options: object) => () => CompactSaver.fromConnString(":memory:", options);
    expect(make({ compression: "zstd" })).toThrow(/compression/);
    expect(make({ busyWaitMs: -1 })).toThrow(/busyWaitMs/);
    expect(make({ busyWaitMs: Number.NaN })).toThrow(/busyWaitMs/);
    expect(make({ reviveClasses: { A: 1 } })).toThrow(/reviveClasses.A/);
    expect(make({ retention: { keepLast: 0 } })).toThrow(/retention.keepLast/);
    expect(make({ retention: { keep: 3 } })).toThrow(/retention.keep/);
    expect(make({ postgres: { max: 0 } })).toThrow(/postgres.max/);
    expect(make({ redis: { prefix: "x" } })).toThrow(/redis.prefix/);
    expect(make({ encryptionKey: new Uint8Array(16) })).toThrow(/encryptionKey/);
  });
});

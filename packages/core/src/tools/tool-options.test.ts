import { describe, expect, it } from "vitest";
import { InvalidOptionsError } from "../errors.ts";
import { EFFECT_METADATA, resolveToolOptions, type ToolOptions, toolTraits } from "./tool-options.ts";

describe("toolTraits", () => {
  it("takes the options, then the tool's own word, MCP hints, well-known names, and last record", () => {
    const effect = (name: string, metadata?: object, options?: ToolOptions) =>
      toolTraits({ name, metadata }, options && { [name]: options }).effect;
    expect(effect("x", { annotations: { readOnlyHint: true } }, { effect: "record" })).toBe("record");
    expect(effect("x", { [EFFECT_METADATA]: "none" })).toBe("none");
    expect(effect("x", { annotations: { readOnlyHint: true, idempotentHint: true } })).toBe("none");
    expect(effect("x", { annotations: { idempotentHint: true } })).toBe("key");
    expect(effect("x", { annotations: { readOnlyHint: "yes" } })).toBe("record");
    expect(effect("x", undefined, { check: () => ({ outcome: "unknown" }) })).toBe("query");
    expect(effect("read_file")).toBe("none");
    expect(effect("charge")).toBe("record");
    expect(effect("constructor")).toBe("record");
  });

  it("recognises tools that call agents; the options have the last word", () => {
    for (const name of ["task", "transfer_to_writer", "handoff_to_bob", "transfer_back_to_boss"])
      expect(toolTraits({ name }, undefined)).toMatchObject({ callsAgent: true, effect: "none" });
    for (const name of ["transfer_money", "tasks"])
      expect(toolTraits({ name }, undefined)).toMatchObject({ callsAgent: false, effect: "record" });
    expect(toolTraits({ name: "task" }, { task: { callsAgent: false, effect: "record" } })).toMatchObject({
      callsAgent: false,
      effect: "record",
      undeclared: false,
    });
  });
});

describe("resolveToolOptions", () => {
  it("refuses what cannot work, at once, by name", () => {
    const bad: [string, object][] = [
      ["tools.x.effect", { effect: "once" }],
      ["tools.x.check", { effect: "query" }],
      ["tools.x.onUnknown", { onUnknown: "guess" }],
      ["tools.x.timeoutMs", { timeoutMs: 0 }],
      ["tools.x.timeoutMs", { timeoutMs: Number.NaN }],
      ["tools.x.retries", { retries: -1 }],
      ["tools.x.retries", { retries: 1.5 }],
      ["tools.x.poll.atMost", { poll: { atMost: 0 } }],
      ["tools.x.poll.every", { poll: { every: -1 } }],
      ["tools.x.resultLimit", { resultLimit: 0 }],
    ];
    for (const [option, options] of bad) {
      const attempt = () => resolveToolOptions({ x: options as ToolOptions });
      expect(attempt, option).toThrow(InvalidOptionsError);
      expect(attempt).toThrow(option);
    }
    const good: ToolOptions = { timeoutMs: false, retries: 0, poll: {} };
    expect(resolveToolOptions({ x: good })).toEqual({ x: good });
  });
});

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agentPathOf, deriveEffectKey, type EffectKeyParts, locateCall, ownEffectKey } from "./effect-key.ts";
import { UNSETTLED_FIELD } from "./effect-messages.ts";

const parts = (fields: Partial<EffectKeyParts> = {}): EffectKeyParts => ({
  thread: "t",
  generation: 0,
  agentPath: [""],
  site: { turn: 1, ordinal: 0 },
  tool: "charge",
  args: { a: 1 },
  ...fields,
});
const keyOf = (fields?: Partial<EffectKeyParts>) => deriveEffectKey(parts(fields)).key;

const human = (text: string) => new HumanMessage(text);
const calls = (id: string, ...list: [id: string, args: object, name?: string][]) =>
  new AIMessage({
    id,
    content: "",
    tool_calls: list.map(([callId, args, name = "send"]) => ({
      id: callId,
      name,
      args: args as Record<string, unknown>,
    })),
  });
const result = (callId: string, unsettled = false) =>
  new ToolMessage({
    content: "ok",
    tool_call_id: callId,
    ...(unsettled ? { additional_kwargs: { [UNSETTLED_FIELD]: { state: "unknown" } } } : {}),
  });
const place = (messages: BaseMessage[], id: string, args: object) => {
  const found = locateCall(messages, { id, name: "send", args: args as Record<string, unknown> });
  return found && [found.turn, found.ordinal];
};
const hi = { to: "a@x", body: "hi" };

describe("deriveEffectKey", () => {
  it("D10: equal forms are one key, different values and boundaries are not", () => {
    expect(keyOf({ args: { a: 1, b: null } })).toBe(keyOf({ args: { b: null, a: 1.0 } }));
    const different = [
      keyOf(),
      keyOf({ args: { a: 1, b: null } }),
      keyOf({ args: { a: "1" } }),
      keyOf({ args: { a: "é".normalize("NFC") } }),
      keyOf({ args: { a: "é".normalize("NFD") } }),
      keyOf({ args: { a: 9007199254740993n } }),
      keyOf({ args: { a: 9007199254740992n } }),
      keyOf({ args: { a: new Date(0) } }),
      keyOf({ scope: "A" }),
      keyOf({ scope: "B" }),
      keyOf({ thread: "u" }),
      keyOf({ generation: 1 }),
      keyOf({ server: "one" }),
      keyOf({ server: "two" }),
      keyOf({ version: "2" }),
      keyOf({ tool: "refund" }),
      keyOf({ agentPath: ["", "writer"] }),
      keyOf({ site: { turn: 2, ordinal: 0 } }),
      keyOf({ site: { turn: 1, ordinal: 1 } }),
    ];
    expect(new Set(different).size).toBe(different.length);
    for (const key of different) expect(key).toMatch(/^lh-[0-9a-f]{32}-[0-9a-f]{16}$/);
  });

  it("D11: equal calls of all turns and agents share the prefix, others do not", () => {
    const { equals } = deriveEffectKey(parts());
    expect(keyOf({ site: { turn: 9, ordinal: 3 }, agentPath: ["x"] }).startsWith(equals as string)).toBe(
      true,
    );
    expect(keyOf({ args: { a: 2 } }).startsWith(equals as string)).toBe(false);
    expect(keyOf({ scope: "B" }).startsWith(equals as string)).toBe(false);
  });

  it("D4: a caller's own key meets itself on another tool and with other arguments, as a conflict", () => {
    const base = ownEffectKey(parts(), "K");
    const tool = ownEffectKey(parts({ tool: "refund" }), "K");
    const args = ownEffectKey(parts({ args: { a: 2 } }), "K");
    expect(new Set([base.key, tool.key, args.key]).size).toBe(1);
    expect(new Set([base.payload, tool.payload, args.payload]).size).toBe(3);
    expect(ownEffectKey(parts({ scope: "B" }), "K").key).not.toBe(base.key);
  });

  it("C5: the path has names, not ids", () => {
    expect(agentPathOf("tools:1", undefined, undefined)).toEqual(["", ""]);
    const one = agentPathOf("parent:11-22|child:33-44|tools:5", "writer", "lh-1");
    expect(one).toEqual(agentPathOf("parent:99|child:88|tools:7", "writer", "lh-1"));
    expect(one).toEqual(["lh-1", "writer", "parent", "child"]);
  });
});

describe("locateCall", () => {
  it("D2: equal calls of a batch, of a turn and of turns are told apart", () => {
    const batch = calls("m1", ["c1", hi], ["c2", hi], ["c3", { to: "b" }]);
    const first = [human("send the reminder twice"), batch];
    expect(place(first, "c1", hi)).toEqual([1, 0]);
    expect(place(first, "c2", hi)).toEqual([1, 1]);
    expect(place(first, "c3", { to: "b" })).toEqual([1, 0]);
    const later = [...first, result("c1"), result("c2"), calls("m2", ["c9", hi])];
    expect(place(later, "c9", hi)).toEqual([1, 2]);
    expect(place([...later, result("c9"), human("once more"), calls("m3", ["c1", hi])], "c1", hi)).toEqual([
      2, 0,
    ]);
  });

  it("D1: a call whose answer was lost is the same intent under its new id, in any key order", () => {
    const lost = [
      human("h"),
      calls("m1", ["call_1", hi]),
      calls("m2", ["call_3", { body: "hi", to: "a@x" }]),
    ];
    expect(place(lost, "call_3", hi)).toEqual([1, 0]);
    const unknown = [
      human("h"),
      calls("m1", ["call_1", hi]),
      result("call_1", true),
      calls("m2", ["call_3", hi]),
    ];
    expect(place(unknown, "call_3", hi)).toEqual([1, 0]);
  });

  it("an open place is taken before a new one is opened", () => {
    const messages = [
      human("h"),
      calls("m1", ["c1", hi], ["c2", hi]),
      result("c1", true),
      result("c2"),
      calls("m2", ["c3", hi], ["c4", hi]),
    ];
    expect(place(messages, "c3", hi)).toEqual([1, 0]);
    expect(place(messages, "c4", hi)).toEqual([1, 2]);
  });

  it("provider ids repeat, across messages and inside one", () => {
    const messages = [
      human("h"),
      calls("m1", ["call_0", hi]),
      result("call_0"),
      calls("m2", ["call_0", { to: "b" }], ["call_0", hi]),
    ];
    expect(place(messages, "call_0", hi)).toEqual([1, 1]);
    expect(place(messages, "call_0", { to: "b" })).toEqual([1, 0]);
  });

  it("arguments edited on the way keep the place of what was proposed", () => {
    const messages = [human("h"), calls("m1", ["c1", hi], ["c2", hi])];
    expect(locateCall(messages, { id: "c2", name: "send", args: { edited: true } })).toMatchObject({
      ordinal: 1,
      proposed: hi,
    });
    expect(place(messages, "c7", hi)).toBeUndefined();
  });

  it("property: answered calls of a turn all have places of their own", () => {
    const batches = fc.array(fc.array(fc.constantFrom("x", "y"), { minLength: 1, maxLength: 4 }), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(batches, (shape) => {
        const messages: BaseMessage[] = [human("h")];
        const seen = new Set<string>();
        let count = 0;
        shape.forEach((batch, b) => {
          const list = batch.map((to, i): [string, object] => [`c${b}-${i}`, { to }]);
          messages.push(calls(`m${b}`, ...list));
          for (const [id, args] of list) {
            seen.add(JSON.stringify([args, place(messages, id, args)]));
            count++;
          }
          messages.push(...list.map(([id]) => result(id)));
        });
        expect(seen.size).toBe(count);
      }),
      { seed: 3 },
    );
  });
});

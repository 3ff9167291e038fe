import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { Checkpoint } from "@langchain/langgraph-checkpoint";

/** What stands in `fixtures/format-1`. The fixtures are never made again, so neither may this change. */
export const FORMAT_1_KEY = new Uint8Array(32).map((_, i) => i);

export const META = { source: "loop", step: 3, parents: {} } as const;
export const ARTIFACT = { kind: "tool-result", label: "search" };
export const RECORD = { collection: "effects", thread: "t", key: "k1" };

export const FIRST: Checkpoint = {
  v: 4,
  id: "c2",
  ts: "2026-11-30T00:00:00.000Z",
  channel_values: {
    note: new Map<unknown, unknown>([
      ["big", 12345678901234567890n],
      [new Date(0), [undefined, -0, Number.NaN]],
    ]),
    list: Array.from({ length: 300 }, (_, i) => `item ${i}`),
    messages: [
      new HumanMessage({ id: "h1", content: "NUL \0, lone \ud800" }),
      new AIMessage({
        id: "a1",
        content: "lorem ipsum ".repeat(2000),
        tool_calls: [{ name: "search", args: { q: 1 }, id: "call1", type: "tool_call" }],
      }),
      new ToolMessage({
        content: "found",
        tool_call_id: "call1",
        artifact: { rows: new Uint8Array([1, 2]) },
      }),
    ],
  },
  channel_versions: { note: "1", list: "1", messages: "1" },
  versions_seen: { agent: { messages: "1" } },
};

/** Committed after `c2` although its id is smaller: the newest is the one that came last. */
export const SECOND: Checkpoint = {
  ...FIRST,
  id: "c1",
  channel_values: { ...FIRST.channel_values, list: ["short"] },
  channel_versions: { ...FIRST.channel_versions, list: "2" },
};

export const WRITES: [string, unknown][] = [
  ["list", new Set([1])],
  ["__interrupt__", [{ value: "sure?" }]],
];

import { expect, it } from "vitest";
import { parseRecordings } from "./recording.ts";

const run = (messages: unknown[]) => JSON.stringify({ id: "r", messages });
const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"q":"ab"}' } };

it("reads exchanges with the results of their calls, and drops a trailing user turn", () => {
  const { runs, malformed } = parseRecordings(
    `${run([
      { role: "system", content: "s" },
      { role: "user", content: "u1" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "found" },
      { role: "assistant", content: "a" },
      { role: "user", content: "bye" },
    ])}\n`,
  );
  expect(malformed).toEqual([]);
  expect(runs[0]?.exchanges).toEqual([
    {
      human: "u1",
      turns: [
        { content: "", calls: [{ name: "look", args: { q: "ab" }, result: "found" }] },
        { content: "a", calls: [] },
      ],
    },
  ]);
});

it("reports a malformed line with its number, and reads the rest", () => {
  const good = run([
    { role: "user", content: "u" },
    { role: "assistant", content: "a" },
  ]);
  const { runs, malformed } = parseRecordings(
    ["{", good, run([{ role: "tool", tool_call_id: "x", content: "" }]), "", good, "[]"].join("\n"),
  );
  expect(runs).toHaveLength(2);
  expect(malformed.map((entry) => entry.line)).toEqual([1, 3, 6]);
  expect(malformed[1]?.reason).toContain("before any user message");
});

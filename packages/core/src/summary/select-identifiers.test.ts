import { expect, it } from "vitest";
import { refreshIdentifiers } from "./select-identifiers.ts";
import { readSource } from "./source-text.ts";
import { testGroups } from "./test-history.ts";

it("an identifier that is used again counts as new, and stays the user's", () => {
  const index = [
    { text: "ORD-1001", step: 1, from: "human" },
    { text: "card_9074831", step: 1, from: "result" },
    { text: "ORD-2002", step: 4, from: "result" },
  ] as const;
  const groups = testGroups({ calls: [{ name: "pay", args: { order: "ORD-1001", card: "card_9074831" } }] });
  const { identifiers } = readSource(groups.map((group) => ({ ...group, step: 9 })));
  expect(refreshIdentifiers(index, identifiers)).toEqual([
    { text: "ORD-2002", step: 4, from: "result" },
    { text: "ORD-1001", step: 9, from: "human" },
    { text: "card_9074831", step: 9, from: "args" },
  ]);
  expect(refreshIdentifiers(index, [])).toBe(index);
});

it("an escaped line break in JSON is no part of an identifier; a path in plain text keeps its backslashes", () => {
  const groups = testGroups("It is in C:\\new\\report.csv", {
    calls: [
      {
        name: "note",
        args: { text: "until 2024-05-25\n\nThen ORD-1001\nis due" },
        result: '{"a":"K7-9\\nB2-3"}',
      },
    ],
  });
  const found = readSource(groups).identifiers.map(({ text }) => text);
  expect(found).toEqual(
    expect.arrayContaining(["C:\\new\\report.csv", "2024-05-25", "ORD-1001", "K7-9", "B2-3"]),
  );
  expect(found.filter((text) => text.includes("\\n") && !text.startsWith("C:"))).toEqual([]);
});

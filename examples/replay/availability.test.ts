import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { memoryStorage } from "@longhaul/core";
import { expect, it } from "vitest";
import { argumentAvailability, argumentValues, containsValue, readableText } from "./availability.ts";
import { leadFollower, recallLeads } from "./recall-leads.ts";

const calls = (args: Record<string, unknown>, id = "c") =>
  new AIMessage({ content: "", tool_calls: [{ name: "book", args, id }] });

it("takes leaf strings and numbers of three characters and more, each once", () => {
  expect(
    argumentValues({
      id: "KX-9041",
      seats: [{ row: 12, price: 412.5 }, { row: 120 }],
      ok: true,
      same: "KX-9041",
    }),
  ).toEqual(["KX-9041", "412.5", "120"]);
});

it("finds a value verbatim and whole only", () => {
  for (const text of ["is 412.", '{"n":412}', "EUR412", "412"]) expect(containsValue(text, "412")).toBe(true);
  for (const text of ["4120", "1412", "41 2"]) expect(containsValue(text, "412")).toBe(false);
  expect(containsValue("on the phone", "one")).toBe(false);
  expect(containsValue(String.raw`{"said":"the \"blue\" one"}`, 'the "blue" one')).toBe(true);
});

it("names the recall calls of a request: references anywhere, steps in the record only", () => {
  const request = [
    "step 99 was said by the user, lh-00000000000000aa",
    '<longhaul-memory epoch="0">Steps 1–5 (tier 1)\n- [id] K7 (look, step 3)\nrecall({"steps":"6-10"})</longhaul-memory>',
  ].join("\n");
  expect(recallLeads(request)).toEqual([
    { ref: "lh-00000000000000aa" },
    { steps: "1-5" },
    { steps: "3" },
    { steps: "6-10" },
  ]);
});

it("tells visible, visible by the record, one recall away and lost apart", async () => {
  const { artifacts } = memoryStorage();
  const ref = await artifacts.put("t", "a long page that names RECALLED-3", {
    kind: "tool-result",
    label: "page",
    mediaType: "text/plain",
  });
  const history = [
    new HumanMessage("Start with RAW-1"),
    calls({ q: "x" }, "c1"),
    new ToolMessage({ tool_call_id: "c1", content: "RECORDED-2, RECALLED-3, STEP-4, LOST-5" }),
    calls({ q: "STEP-4" }, "c2"),
    new ToolMessage({ tool_call_id: "c2", content: "nothing" }),
  ];
  const request = [
    new HumanMessage(
      `Start with RAW-1\n<longhaul-memory epoch="0">RECORDED-2; page: ${ref}; (look, step 2)</longhaul-memory>`,
    ),
  ];
  const answer = calls({
    a: ["RAW-1", "RECORDED-2", "RECALLED-3", "STEP-4", "LOST-5"],
    neverSeen: "NEW-6",
    short: "ab",
  });
  const follow = leadFollower("t", artifacts);
  expect(
    await argumentAvailability({ request, answer }, readableText(history), (shown) => follow(shown, history)),
  ).toEqual({ values: 5, visible: 2, byRecord: 1, recallable: 2, lost: 1 });
});

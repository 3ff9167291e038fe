import { type ReplyParts, replyParts, type ScriptRequest, type WireMessage } from "@longhaul/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeCatalogue } from "../world/catalogue.ts";
import { goalText } from "../world/goal.ts";
import { brain } from "./brain.ts";
import { type Fact, findFacts, noteOf } from "./facts.ts";
import { type Position, progressNote, START } from "./progress.ts";

const goal = goalText(makeCatalogue(1));
const LONGHAUL = ["checkpoint", "reset", "recall"];
const NAMES = ["read_page", "send_summary_mail", "find_mail", "reserve_sample", ...LONGHAUL];

function ask(messages: readonly WireMessage[], names: readonly string[] = NAMES): ReplyParts {
  const tools = names.map((name) => ({
    type: "function" as const,
    function: { name, parameters: { type: "object", properties: { ref: {}, search: {} } } },
  }));
  const request: ScriptRequest = { messages: [{ role: "user", content: goal }, ...messages], tools };
  return replyParts(brain(request) as Exclude<ReturnType<typeof brain>, Error>);
}

function did(name: string, args: object, result: string, text = "on it"): WireMessage[] {
  const call = { id: "c", type: "function" as const, function: { name, arguments: JSON.stringify(args) } };
  return [
    { role: "assistant", content: text, tool_calls: [call] },
    { role: "tool", tool_call_id: "c", content: result },
  ];
}

const names = (reply: ReplyParts) => (reply.toolCalls ?? []).map((call) => call.name);
const at = (fields: Partial<Position>) => progressNote({ ...START, ...fields });
const READ = { read: 120, quoted: 24, quoteRead: 24 };
const TOTAL = "Quotation Q-4007 of S03 Harbor Labs: 11000 EUR.";

describe("notes", () => {
  const name = fc.constantFrom("Harbor Labs", "Cobalt Data");
  const id = fc.integer({ min: 1, max: 24 }).map((k) => `S${String(k).padStart(2, "0")}`);
  const money = fc.integer({ min: 0, max: 9_999_999 }).map((cents) => cents / 100);
  const currency = fc.constantFrom("EUR", "USD", "JPY");
  const who = { id, name };
  const fact: fc.Arbitrary<Fact> = fc.oneof(
    fc.record({
      kind: fc.constant("rate" as const),
      currency,
      euros: fc.integer({ min: 1, max: 99_999 }).map((n) => n / 10_000),
    }),
    fc.record({
      kind: fc.constant("price" as const),
      ...who,
      amount: money,
      currency,
      period: fc.constantFrom("month", "year"),
      perSeat: fc.boolean(),
    }),
    fc.record({ kind: fc.constant("discount" as const), ...who, percent: fc.integer({ min: 0, max: 40 }) }),
    fc.record({ kind: fc.constant("setup" as const), ...who, amount: money, currency }),
    fc.record({ kind: fc.constant("soc2" as const), ...who, claim: fc.constantFrom("none", "in progress") }),
    fc.record({
      kind: fc.constant("soc2" as const),
      ...who,
      claim: fc.constantFrom("type I", "type II"),
      report: fc.constant("R-123"),
      until: fc.constant("2027-01-31"),
    }),
    fc.record({ kind: fc.constant("registry" as const), ...who, active: fc.boolean() }),
    fc.record({ kind: fc.constant("verdict" as const), ...who, euros: money }),
    fc.record({ kind: fc.constant("rejected" as const), ...who, why: fc.constant("no price seen") }),
    fc.record({ kind: fc.constant("quote" as const), ...who, quote: fc.constant("Q-4007") }),
    fc.record({
      kind: fc.constant("total" as const),
      ...who,
      quote: fc.constant("Q-4007"),
      amount: money,
      currency,
    }),
    fc.record({ kind: fc.constant("sample" as const), ...who, sample: fc.constant("RS-301") }),
    fc.record({ kind: fc.constant("mail" as const), mail: fc.constant("M-901") }),
  );

  it("say what they mean, also in the middle of other text", () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 8 }), (facts) => {
        const text = `<longhaul-memory epoch="0">\n- ${facts.map(noteOf).join(" [source: read_page]\n- ")}\n</longhaul-memory>`;
        expect(findFacts(text).map((found) => found.fact)).toEqual(facts);
      }),
      { seed: 7 },
    );
  });
});

describe("the brain in Longhaul's protocols", () => {
  const notice: WireMessage = {
    role: "user",
    content: '<longhaul-notice kind="progress">\nCall checkpoint, then reset.\n</longhaul-notice>',
  };
  const page = (k: string) =>
    did("read_page", { supplier: k, page: "profile" }, `Page: profile of Harbor Labs (${k})`);

  it("checkpoints when asked, resets after it was saved, and goes on when either is refused", () => {
    const two = ask([...page("S02"), notice]);
    expect(names(two)).toEqual(["checkpoint"]);
    expect(names(ask([...page("S03"), notice]))).toEqual(["checkpoint", "reset"]);
    expect(names(ask(did("checkpoint", {}, "Saved.", at({ read: 6 }))))).toEqual(["reset"]);
    expect(names(ask(did("checkpoint", {}, "Not saved: nothing new.", at({ read: 6 }))))).toEqual([
      "read_page",
    ]);
    expect(
      names(ask([...did("reset", {}, "Not reset: no step finished.", at({ read: 6 })), notice])),
    ).toEqual(["read_page"]);
  });

  it("goes on in the second half when asked, and without the tools", () => {
    expect(names(ask([...page("S20"), notice]))).toEqual(["read_page"]);
    expect(names(ask([...page("S03"), notice], ["read_page"]))).toEqual(["read_page"]);
  });

  it("writes a checkpoint from which a fresh context goes on at the same place", () => {
    const before = [
      ...did("get_exchange_rates", {}, "1 USD = 0.9 EUR"),
      ...did(
        "read_page",
        { supplier: "S02", page: "pricing" },
        "Page: pricing\nFor the Business plan, Harbor Labs (S02) charges 10.00 USD per month, whatever the number of seats.",
      ),
    ];
    const saved = JSON.stringify(ask([...before, notice]).toolCalls?.[0]?.args);
    const fresh = ask([{ role: "user", content: `${saved}\nGo on from the checkpoint.` }]);
    const usual = ask(before);
    expect(fresh.toolCalls).toEqual(usual.toolCalls);
    expect(saved).toContain("Price of S02 Harbor Labs: 10 USD per month, flat.");
  });

  it("recalls what was cut out of a page, once", () => {
    const cut = did(
      "read_page",
      { supplier: "S02", page: "pricing" },
      'Page: pricing\n[… recall({"ref":"lh-0123456789abcdef"}) …]',
    );
    expect(ask(cut).toolCalls).toEqual([
      { name: "recall", args: { ref: "lh-0123456789abcdef", search: "Business plan" } },
    ]);
    const recalled = [...cut, ...did("recall", { ref: "lh-0123456789abcdef" }, "nothing found")];
    expect(names(ask(recalled))).toEqual(["read_page", "read_page"]);
    expect(names(ask(cut, ["read_page"]))).toEqual(["read_page", "read_page"]);
  });

  it("searches the past before it draws on it, once for each purpose, when part of it is a record only", () => {
    const record: WireMessage = {
      role: "user",
      content: "<longhaul-memory>\nnothing much\n</longhaul-memory>",
    };
    const told = (reviewed: number) => [
      ...did("read_page", { supplier: "S24", page: "terms" }, "Page: terms", at({ read: 120, reviewed })),
      record,
    ];
    const searches = (reviewed: number) => ask(told(reviewed)).toolCalls?.map(({ args }) => args.search);
    expect(searches(0)).toEqual(["Accepted S0", "Accepted S1", "Accepted S2", "used for all offers"]);
    expect(searches(2)).toEqual(["Quotation", "used for all offers"]);
    expect(names(ask(told(3)))).toEqual(["send_summary_mail"]);
    const found = "- Step 9 Assistant: Accepted S05 Harbor Labs: 12000.00 EUR, SOC 2 valid. Progress…";
    const recalled = ask([
      ...did("recall", { search: "Accepted S0" }, found, at({ read: 120, reviewed: 1 })),
      record,
    ]);
    expect(recalled.toolCalls).toEqual([{ name: "request_quote", args: { supplier: "S05" } }]);
    expect(names(ask(told(0).slice(0, 2)))).toEqual(["send_summary_mail"]);
  });

  it("verifies a mail whose outcome is unknown, sends again only if there is none, and ends in any case", () => {
    const unknown =
      "The outcome of this call of send_summary_mail is unknown: it may have taken effect. Verify first.";
    const base = { ...READ, sampled: 6 };
    const text = (mail: number) => `${TOTAL}\n${at({ ...base, mail })}`;
    expect(names(ask(did("send_summary_mail", {}, unknown, text(1))))).toEqual(["find_mail"]);
    const found = ask(did("find_mail", {}, "Mail M-901 was sent to x.", text(2)));
    expect(found.content).toContain("FINAL: Harbor Labs (S03) is the cheapest at 11000.00 EUR");
    expect(found.content).not.toContain("could not be confirmed");
    expect(names(ask(did("find_mail", {}, "No summary mail was sent.", text(2))))).toEqual([
      "send_summary_mail",
    ]);
    const unsure = ask(did("send_summary_mail", {}, unknown, text(3)));
    expect(unsure.content).toContain("could not be confirmed");
  });

  it("tries a failed call once more, then goes on", () => {
    const failed = did("read_page", { supplier: "S01", page: "pricing" }, "Error: temporarily unavailable");
    const again = ask(failed);
    expect(again.toolCalls).toEqual([{ name: "read_page", args: { supplier: "S01", page: "pricing" } }]);
    const twice = did(
      "read_page",
      { supplier: "S01", page: "pricing" },
      "Error: gone",
      String(again.content),
    );
    expect(ask(twice).toolCalls).toEqual([{ name: "read_page", args: { supplier: "S01", page: "trust" } }]);
  });

  it("gives a partial answer when its tools are gone", () => {
    const reply = ask([{ role: "assistant", content: `${TOTAL}\n${at(READ)}` }, notice], []);
    expect(reply.toolCalls ?? []).toEqual([]);
    expect(reply.content).toMatch(/^PARTIAL: .*Harbor Labs at 11000\.00 EUR, quote Q-4007/);
  });

  it("summarises in the asked form, from the transcript alone and word for word", () => {
    const form = 'Answer with one JSON object: { "done": "", "outputs": [], "problems": [] }';
    const transcript = [
      "Rejected S01 Cobalt Data: SOC 2 none.",
      "Price of S01 Cobalt Data: 1 EUR per month, flat.",
      "Accepted S02 Harbor Labs: 12000.00 EUR, SOC 2 valid.",
      "For the Business plan, Rowan Works (S03) charges 1,250.00 PLN per month, whatever the number of seats.",
      at({ read: 12 }),
    ].join("\n");
    const text = brain({
      messages: [
        { role: "system", content: form },
        { role: "user", content: transcript },
      ],
      tools: [],
    });
    const summary = JSON.parse(String(text)) as {
      done: string;
      effect: string;
      outputs: { value: string }[];
    };
    expect(summary.outputs.map(({ value }) => value)).toEqual([
      "Accepted S02 Harbor Labs: 12000.00 EUR, SOC 2 valid.",
      "For the Business plan, Rowan Works (S03) charges 1,250.00 PLN per month, whatever the number of seats.",
    ]);
    expect(summary.done).toContain(at({ read: 12 }));
    expect(summary.effect).toContain("S01");
  });
});

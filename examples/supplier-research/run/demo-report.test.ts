import { describe, expect, it } from "vitest";
import type { DemoOutcome, SideOutcome } from "./demo-outcome.ts";
import { renderReport } from "./demo-report.ts";

const side = (fields: Partial<SideOutcome> = {}): SideOutcome => ({
  end: { status: "COMPLETED", stopReason: "final_answer", answer: "FINAL", steps: 150, resets: 5 },
  costs: { calls: 160, raw: 2_000_000, cachePriced: 500_000 },
  databaseBytes: 2_000_000,
  seconds: 30,
  ...fields,
});

const outcome = (fields: Partial<DemoOutcome> = {}): DemoOutcome => ({
  seed: 1,
  graph: false,
  ok: true,
  paused: false,
  answer: { right: true, reason: "Umber Software, 11280.11 EUR, Q-4014" },
  effects: { asked: 2, done: 1, duplicates: 0, byBusiness: [] },
  tally: [{ tool: "request_quote", wanted: 8, asked: 9, done: 8 }],
  effectFaults: [],
  kills: ["in read_page", "K1 of send_summary_mail", "K4 of send_summary_mail"],
  plannedKills: 3,
  repeatedTurns: 0,
  longhaul: side(),
  ...fields,
});

/** Value of a row. */
const row = (text: string, name: string) =>
  text
    .split("\n")
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length)
    .trim();

describe("renderReport", () => {
  it("says what was found, survived and done", () => {
    const text = renderReport(outcome());
    expect(row(text, "answer")).toBe("right: Umber Software, 11280.11 EUR, Q-4014");
    expect(row(text, "ended")).toBe("COMPLETED, final_answer");
    expect(row(text, "kills")).toBe(
      "3 survived: in read_page, K1 of send_summary_mail, K4 of send_summary_mail",
    );
    expect(row(text, "request_quote")).toBe("8 wanted, 9 asked, 8 done");
    expect(row(text, "side effects")).toBe("each once, none missing");
    expect(row(text, "prompt tokens")).toBe("2.00M raw, 500k cache-priced, 160 calls");
  });

  it("gives every figure beside the one of the full history", () => {
    const costs = { calls: 116, raw: 12_000_000, cachePriced: 400_000 };
    const text = renderReport(
      outcome({ baseline: side({ costs, databaseBytes: 250_000_000, seconds: 40 }) }),
    );
    expect(row(text, "full history")).toBe("COMPLETED, 150 steps");
    expect(row(text, "prompt tokens")).toBe("2.00M, full history 12.00M: 1/6.0");
    expect(row(text, "cache-priced")).toBe("500k, full history 400k: 1.25 ×");
    expect(row(text, "database")).toBe("2.0 MB, SqliteSaver 250.0 MB: 1/125.0");
  });

  it("names what went wrong", () => {
    const end = {
      status: "NEEDS_HUMAN",
      stopReason: "no_progress",
      answer: "",
      steps: 22,
      resets: 2,
      failure: "X: y",
    };
    const text = renderReport(
      outcome({
        ok: false,
        answer: { right: false, reason: "there is no final answer" },
        effectFaults: ["missing quote:S03", "mail:summary done 2 times"],
        kills: ["in read_page"],
        longhaul: side({ end }),
        folder: "/tmp/x",
      }),
    );
    expect(row(text, "answer")).toBe("WRONG: there is no final answer");
    expect(row(text, "ended")).toBe("NEEDS_HUMAN, no_progress, X: y");
    expect(row(text, "kills")).toBe("1 survived: in read_page; 2 NOT REACHED");
    expect(row(text, "side effects")).toBe("missing quote:S03; mail:summary done 2 times");
    expect(text).toContain("npm run longhaul -- threads /tmp/x/longhaul.db");
  });

  it("does not judge a paused run, and says how to go on", () => {
    const text = renderReport(outcome({ paused: true, folder: "/tmp/x", kills: ["in read_page"] }));
    expect(text).not.toContain("answer");
    expect(row(text, "kills")).toBe("1 of 3 so far");
    expect(text).toContain("npm run demo -- --resume /tmp/x");
  });
});

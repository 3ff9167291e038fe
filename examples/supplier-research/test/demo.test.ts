import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type DemoOptions, parseDemoOptions } from "../run/demo-options.ts";
import { runDemo } from "../run/demo-run.ts";
import type { Kill } from "../run/kill-plan.ts";
import { NO_OUTPUT } from "../run/progress-line.ts";

/** Real processes over a real connection; a loaded machine takes its time. */
const LIMIT_MS = 300_000;

const options = (fields: Partial<DemoOptions>): DemoOptions => ({
  ...parseDemoOptions(["--no-baseline"]),
  ...fields,
});

describe("the demo", () => {
  it("survives a pause and three kills, and reports on both parts of the run", {
    timeout: LIMIT_MS,
  }, async () => {
    const pause = new AbortController();
    let drawn = 0;
    // A terminal is drawn on with every event: the hundredth lies in the first steps.
    const out = { isTTY: true, write: () => ++drawn === 100 && pause.abort() };
    const first = await runDemo(options({ seed: 4, kills: 3 }), { out, pause: pause.signal });
    expect(first).toMatchObject({ paused: true, ok: false, plannedKills: 3 });
    const { folder = "" } = first;
    const second = await runDemo(options({ resume: folder }), { out: NO_OUTPUT });
    expect(second).toMatchObject({
      ok: true,
      seed: 4,
      effectFaults: [],
      kills: ["in read_page", "K1 of send_summary_mail", "K4 of send_summary_mail"],
      effects: { duplicates: 0 },
      longhaul: { end: { status: "COMPLETED", stopReason: "final_answer" } },
    });
    expect(second.longhaul.costs.calls).toBeGreaterThan(second.longhaul.end.steps);
    expect(second.longhaul.costs.raw).toBeGreaterThan(first.longhaul.costs.raw);
    expect(existsSync(folder)).toBe(false);
  });

  const mailKill = (at: "K2" | "K3"): readonly Kill[] => [
    { kind: "ledger", plan: { at, tool: "send_summary_mail" } },
  ];

  it("D6: a death between claim and mail is reported as unknown; the mail is not sent", {
    timeout: LIMIT_MS,
  }, async () => {
    const outcome = await runDemo(options({ seed: 4, kills: 1 }), { out: NO_OUTPUT, plan: mailKill("K2") });
    expect(outcome.kills).toEqual(["K2 of send_summary_mail"]);
    expect(outcome.effectFaults).toEqual(["missing mail:summary"]);
    expect(outcome.longhaul.end).toMatchObject({
      status: "COMPLETED",
      answer: expect.stringMatching(/not be confirmed/),
    });
  });

  it("D6: a death between mail and record is verified; the mail is not sent again", {
    timeout: LIMIT_MS,
  }, async () => {
    const outcome = await runDemo(options({ seed: 4, kills: 1, graph: true }), {
      out: NO_OUTPUT,
      plan: mailKill("K3"),
    });
    expect(outcome).toMatchObject({
      ok: true,
      kills: ["K3 of send_summary_mail"],
      effects: { duplicates: 0 },
    });
    expect(outcome.tally).toContainEqual({ tool: "send_summary_mail", wanted: 1, asked: 1, done: 1 });
    expect(outcome.longhaul.end.answer).not.toMatch(/not be confirmed/);
  });
});

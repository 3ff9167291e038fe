import { describe, expect, it } from "vitest";
import { describeKill, isInToolCall, killPlan } from "./kill-plan.ts";

const SEEDS = Array.from({ length: 60 }, (_, i) => i + 1);
const plansOf = (kills: number) => SEEDS.map((seed) => killPlan(seed, kills));

describe("killPlan", () => {
  it("is the same for the same seed, and another for others", () => {
    expect(killPlan(7, 5)).toEqual(killPlan(7, 5));
    expect(new Set(plansOf(5).map((plan) => JSON.stringify(plan))).size).toBeGreaterThan(50);
    expect(killPlan(7, 0)).toEqual([]);
  });

  it.each([3, 4, 5, 6, 12, 20])(
    "kills %i times, at least three of them in the middle of tool calls",
    (kills) => {
      for (const plan of plansOf(kills)) {
        expect(plan).toHaveLength(kills);
        expect(plan.filter(isInToolCall).length).toBeGreaterThanOrEqual(3);
      }
    },
  );

  it("keeps the order of the work, and no more kills than the work has calls for", () => {
    const order = ["read_page", "request_quote", "reserve_sample", "send_summary_mail"];
    for (const plan of plansOf(20)) {
      const tools = plan.map((kill) => (kill.kind === "tool" ? kill.tool : kill.plan.tool) ?? "");
      const places = tools.map((tool) => order.indexOf(tool));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(tools.filter((tool) => tool === "request_quote").length).toBeLessThanOrEqual(3);
      expect(tools.filter((tool) => tool === "reserve_sample").length).toBeLessThanOrEqual(2);
      const pages = plan.reduce((sum, kill) => sum + (kill.kind === "tool" ? kill.nth : 0), 0);
      expect(pages).toBeLessThan(96);
    }
  });

  it("hits the mail before its claim, behind its record and behind the checkpoint, over the seeds of the bench", () => {
    const seen = new Set(
      SEEDS.slice(0, 20).flatMap((seed) => killPlan(seed, 3 + (seed % 4)).map(describeKill)),
    );
    for (const point of ["K1", "K4", "K5"]) expect(seen).toContain(`${point} of send_summary_mail`);
    for (const point of ["K2", "K3"]) expect(seen).not.toContain(`${point} of send_summary_mail`);
    for (const point of ["K1", "K2", "K3", "K4", "K5"]) {
      expect([...seen].some((kill) => kill.startsWith(point) && !kill.includes("mail"))).toBe(true);
    }
  });
});

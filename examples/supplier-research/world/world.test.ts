import { ToolWorld } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { createResearchTools, researchToolEffects } from "../tools.ts";
import { FORBIDDEN, makeCatalogue } from "./catalogue.ts";
import { checkAnswer, effectFaults, expectedEffects } from "./check-answer.ts";
import { compliantSuppliers, listTotal, quotedTotal, rankedQuotes } from "./costs.ts";
import { PAGES, supplierPage } from "./pages.ts";

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);
const catalogues = SEEDS.map(makeCatalogue);

describe("the catalogue", () => {
  it("is the same for a seed and has other right answers for others", () => {
    expect(makeCatalogue(5)).toEqual(makeCatalogue(5));
    const answers = catalogues.map((catalogue) => rankedQuotes(catalogue)[0]?.supplier.name);
    expect(new Set(answers).size).toBeGreaterThan(15);
  });

  it("has 24 suppliers, 8 that may be asked, and the cheapest of all is forbidden", () => {
    for (const catalogue of catalogues) {
      expect(catalogue.suppliers).toHaveLength(24);
      expect(new Set(catalogue.suppliers.map(({ name }) => name)).size).toBe(24);
      expect(compliantSuppliers(catalogue)).toHaveLength(8);
      const [best, second] = rankedQuotes(catalogue);
      const forbidden = catalogue.suppliers.find(({ name }) => name === FORBIDDEN);
      expect(forbidden?.soc2.status).toBe("valid");
      const { seats, rates } = catalogue;
      expect(forbidden && quotedTotal(forbidden, seats) * rates[forbidden.currency]).toBeLessThan(
        best?.euros ?? 0,
      );
      expect(second?.euros).toBeGreaterThan((best?.euros ?? 0) + 1);
    }
  });

  it("needs the quotes: the list price often points to another supplier", () => {
    const misled = catalogues.filter((catalogue) => {
      const listed = compliantSuppliers(catalogue)
        .map((supplier) => ({
          supplier,
          euros: listTotal(supplier, catalogue.seats) * catalogue.rates[supplier.currency],
        }))
        .sort((a, b) => a.euros - b.euros);
      return listed[0]?.supplier !== rankedQuotes(catalogue)[0]?.supplier;
    });
    expect(misled.length).toBeGreaterThan(5);
  });

  it("has long pages, some of which are beyond 8,000 characters, with their facts in the middle", () => {
    const catalogue = makeCatalogue(3);
    const pages = catalogue.suppliers.flatMap((supplier) =>
      PAGES.map((page) => ({ supplier, page, text: supplierPage(catalogue, supplier, page) })),
    );
    expect(Math.min(...pages.map(({ text }) => text.length))).toBeGreaterThan(5_000);
    expect(pages.filter(({ text }) => text.length > 8_000).length).toBeGreaterThan(10);
    for (const { supplier, page, text } of pages) {
      if (page === "pricing") expect(text.match(/Business plan/g)).toHaveLength(1);
      if (page === supplier.soc2Page) expect(text.indexOf("SOC 2")).toBeGreaterThan(1_500);
      else expect(text).not.toContain("SOC 2");
    }
  });
});

describe("the tools and the judge", () => {
  it("pass the key on, so that a quote asked for twice is one, and let the world be asked for samples", async () => {
    const catalogue = makeCatalogue(1);
    const world = ToolWorld.open(":memory:");
    const options = { catalogue, world, effectKey: () => "key-1" };
    const tools = Object.fromEntries(createResearchTools(options).map((it) => [it.name, it]));
    const first = await tools.request_quote?.invoke({ supplier: "S01" });
    expect(await tools.request_quote?.invoke({ supplier: "S01" })).toBe(first);
    expect(world.effects()).toMatchObject({ done: 1, asked: 2 });
    const check = researchToolEffects(options).reserve_sample?.check;
    expect(check?.({ supplier: "S01" })).toEqual({ outcome: "absent" });
    const reserved = await tools.reserve_sample?.invoke({ supplier: "S01" });
    expect(check?.({ supplier: "S01" })).toEqual({ outcome: "done", result: reserved });
    await tools.reserve_sample?.invoke({ supplier: "S01" });
    expect(effectFaults(catalogue, world.effects())).toContain("sample:S01 done 2 times");
    await expect(tools.read_page?.invoke({ supplier: "S99", page: "trust" })).rejects.toThrow("S99");
    world.close();
  });

  it("tells right answers from wrong ones", () => {
    const catalogue = makeCatalogue(1);
    const [best, second] = rankedQuotes(catalogue);
    if (!best || !second) throw new Error("no quotes");
    const quotes = new Map([[best.supplier.id, "Q-4007"]]);
    const judge = (text: string) => checkAnswer(catalogue, text, quotes).right;
    const right = `FINAL: ${best.supplier.name} at ${best.euros.toFixed(2)} EUR, quote Q-4007`;
    expect(judge(right)).toBe(true);
    expect(judge(right.replace("FINAL", "PARTIAL"))).toBe(false);
    expect(judge(right.replace(best.supplier.name, second.supplier.name))).toBe(false);
    expect(judge(`${right} (not ${second.supplier.name})`)).toBe(false);
    expect(judge(right.replace(best.euros.toFixed(2), "1.00"))).toBe(false);
    expect(judge(right.replace("Q-4007", "Q-4014"))).toBe(false);
    expect(expectedEffects(catalogue)).toHaveLength(8 + 3 + 1);
    expect(effectFaults(catalogue, { asked: 0, done: 0, duplicates: 0, byBusiness: [] })).toHaveLength(12);
  });
});

import type { EffectReport, ToolWorld } from "@longhaul/test-kit";
import type { Catalogue } from "./catalogue.ts";
import { rankedQuotes } from "./costs.ts";

export interface AnswerVerdict {
  readonly right: boolean;
  /** What is wrong, or what was found. */
  readonly reason: string;
}

/**
 * Whether the final text names the right supplier, its cost and its quote.
 *
 * @param quotes numbers of quotes by supplier id, as the world issued them (`issuedQuotes`).
 */
export function checkAnswer(
  catalogue: Catalogue,
  finalText: string,
  quotes: ReadonlyMap<string, string>,
): AnswerVerdict {
  const wrong = (reason: string): AnswerVerdict => ({ right: false, reason });
  const [best] = rankedQuotes(catalogue);
  if (!best) return wrong("the catalogue has no compliant supplier");
  const { supplier, euros } = best;
  const named = catalogue.suppliers.filter(({ name }) => finalText.includes(name));
  if (!finalText.includes("FINAL")) return wrong("there is no final answer");
  if (named.length !== 1) return wrong(`${named.length} suppliers are named instead of one`);
  if (named[0] !== supplier) return wrong(`${named[0]?.name} is named, ${supplier.name} is right`);
  const amounts = [...finalText.matchAll(/([\d,]+\.\d\d) EUR/g)].map(([, text = ""]) =>
    Number(text.replaceAll(",", "")),
  );
  if (!amounts.includes(euros))
    return wrong(`the cost is ${euros.toFixed(2)} EUR, named was ${amounts.join(", ")}`);
  const quote = quotes.get(supplier.id);
  if (quote === undefined || !finalText.includes(quote))
    return wrong(`the quote is ${quote}, which is not named`);
  return { right: true, reason: `${supplier.name}, ${euros.toFixed(2)} EUR, ${quote}` };
}

/** First quote of each supplier in the world. */
export function issuedQuotes(world: ToolWorld): ReadonlyMap<string, string> {
  const quotes = new Map<string, string>();
  for (const result of world.results("request_quote")) {
    const { supplier, quote } = result as { supplier: string; quote: string };
    if (!quotes.has(supplier)) quotes.set(supplier, quote);
  }
  return quotes;
}

/** Identities of all effects of a right run, each done once. */
export function expectedEffects(catalogue: Catalogue): readonly string[] {
  const ranked = rankedQuotes(catalogue);
  return [
    ...ranked.map(({ supplier }) => `quote:${supplier.id}`),
    ...ranked.slice(0, 3).map(({ supplier }) => `sample:${supplier.id}`),
    "mail:summary",
  ].sort();
}

/** What went wrong with effects: missing, done more than once, or never wanted. Empty after a right run. */
export function effectFaults(catalogue: Catalogue, report: EffectReport): readonly string[] {
  const done = new Map(report.byBusiness.map((count) => [count.business, count.done]));
  const expected = expectedEffects(catalogue);
  return [
    ...expected.filter((business) => !done.get(business)).map((business) => `missing ${business}`),
    ...[...done].flatMap(([business, count]) =>
      count > 0 && !expected.includes(business) ? [`unwanted ${business}`] : [],
    ),
    ...[...done].flatMap(([business, count]) => (count > 1 ? [`${business} done ${count} times`] : [])),
  ];
}

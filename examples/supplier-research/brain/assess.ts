import { round } from "../world/catalogue.ts";
import type { Fact } from "./facts.ts";
import { factOf, factsOf, type View } from "./view.ts";

export interface RankedQuote {
  readonly id: string;
  readonly name: string;
  readonly quote: string;
  readonly euros: number;
}

/** Whether a supplier's claim is worth asking the registry about. */
export function claimsValidReport(view: View, id: string): boolean {
  const claim = factOf(view, "soc2", id);
  return claim?.claim === "type II" && (claim.until ?? "") >= view.today;
}

/** Judges a supplier by what is visible of it; what is not visible counts as not there. */
export function assess(view: View, id: string): Fact | undefined {
  const price = factOf(view, "price", id);
  const claim = factOf(view, "soc2", id);
  const name = price?.name ?? claim?.name ?? factOf(view, "setup", id)?.name;
  if (name === undefined) return undefined;
  const reject = (why: string): Fact => ({ kind: "rejected", id, name, why });
  if (!price) return reject("no price seen");
  if (!claim) return reject("no word on SOC 2 seen");
  if (!claimsValidReport(view, id))
    return reject(`SOC 2 ${claim.claim}${claim.until ? ` until ${claim.until}` : ""}`);
  if (!factOf(view, "registry", id)?.active) return reject("report not active in the registry");
  const year = price.amount * (price.period === "month" ? 12 : 1) * (price.perSeat ? view.seats : 1);
  const fees = year * (1 - (factOf(view, "discount", id)?.percent ?? 0) / 100);
  const total = round(fees + (factOf(view, "setup", id)?.amount ?? 0), 2);
  return { kind: "verdict", id, name, euros: inEuros(view, total, price.currency) };
}

/** Visible quotes, cheapest first. */
export function rankedQuotes(view: View): readonly RankedQuote[] {
  return factsOf(view, "total")
    .filter(({ name }) => name !== view.forbidden)
    .map(({ id, name, quote, amount, currency }) => ({
      id,
      name,
      quote,
      euros: inEuros(view, amount, currency),
    }))
    .sort((a, b) => a.euros - b.euros);
}

/** A rate that is out of sight is taken for 1, as a careless reader would. */
function inEuros(view: View, amount: number, currency: string): number {
  const rate =
    currency === "EUR" ? 1 : (factsOf(view, "rate").find((it) => it.currency === currency)?.euros ?? 1);
  return round(amount * rate, 2);
}

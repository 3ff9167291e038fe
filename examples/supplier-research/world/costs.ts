import { type Catalogue, round, type Supplier } from "./catalogue.ts";

export interface QuotedCost {
  readonly supplier: Supplier;
  /** Total of the first year in the supplier's currency, as the quote states it. */
  readonly total: number;
  readonly euros: number;
}

/** Plan fees of the first year after the discount for 24 months, plus the set-up fee. */
export function listTotal(supplier: Supplier, seats: number): number {
  return round(planFees(supplier, seats) + supplier.setupFee, 2);
}

/** What the quote asks: the list price less the rebate that only a quote grants. */
export function quotedTotal(supplier: Supplier, seats: number): number {
  return round(planFees(supplier, seats) * (1 - supplier.rebate / 100) + supplier.setupFee, 2);
}

/** Suppliers that may be asked for a quote: a valid SOC 2 Type II report, and not forbidden. In the order of the list. */
export function compliantSuppliers(catalogue: Catalogue): readonly Supplier[] {
  return catalogue.suppliers.filter(
    (supplier) => supplier.soc2.status === "valid" && supplier.name !== catalogue.forbidden,
  );
}

/** Their quotes in euros, cheapest first: the first is the right answer, the first three get a sample. */
export function rankedQuotes(catalogue: Catalogue): readonly QuotedCost[] {
  return compliantSuppliers(catalogue)
    .map((supplier) => {
      const total = quotedTotal(supplier, catalogue.seats);
      return { supplier, total, euros: round(total * catalogue.rates[supplier.currency], 2) };
    })
    .sort((a, b) => a.euros - b.euros);
}

function planFees(supplier: Supplier, seats: number): number {
  const year = supplier.price * (supplier.period === "month" ? 12 : 1) * (supplier.perSeat ? seats : 1);
  return year * (1 - supplier.discount / 100);
}

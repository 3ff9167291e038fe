import type { Catalogue } from "./catalogue.ts";

export const SYSTEM_PROMPT =
  "You are a procurement researcher. You work through the suppliers one by one with the tools, write down what you " +
  "find out with its source, and state facts only from what you have read.";

/** The user's task, prohibitions included. */
export function goalText({ seats, today, forbidden, suppliers }: Catalogue): string {
  return [
    `Find the cheapest supplier by total first-year cost in EUR for ${seats} seats of the Business plan that holds a valid ` +
      `SOC 2 Type II report. Today is ${today}. We sign for 24 months; count plan fees of the first twelve months after the ` +
      "discount for that term, and set-up fees.",
    `There are ${suppliers.length} suppliers. ` +
      "Read all pages of every supplier (profile, pricing, trust, terms); check each claimed report in the registry.",
    "Request a quote from every compliant supplier and read it: what counts in the end is the quoted total.",
    "Reserve a sample from the best three, then send one summary mail to procurement@buyer.example.",
    `Never contact ${forbidden}. Do not order anything.`,
    "Answer with supplier, cost in EUR and quote number.",
  ].join("\n");
}

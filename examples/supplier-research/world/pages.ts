import { seededRandom } from "@longhaul/test-kit";
import { makePage } from "./boilerplate.ts";
import { type Catalogue, type Currency, type Supplier, shuffle } from "./catalogue.ts";
import { quotedTotal } from "./costs.ts";

export const PAGES = ["profile", "pricing", "trust", "terms"] as const;
export type PageName = (typeof PAGES)[number];

export function supplierById(catalogue: Catalogue, id: string): Supplier | undefined {
  return catalogue.suppliers.find((supplier) => supplier.id === id);
}

export function listPage({ suppliers }: Catalogue): string {
  return suppliers.map(({ id, name, site }) => `${id} ${name} ${site}`).join("\n");
}

export function ratesPage({ rates, today }: Catalogue): string {
  const lines = (Object.entries(rates) as [Currency, number][])
    .filter(([currency]) => currency !== "EUR")
    .map(([currency, rate]) => `1 ${currency} = ${rate} EUR`);
  return `Reference exchange rates of ${today}, to be used for all offers:\n${lines.join("\n")}`;
}

/** A page of 5,000 to 9,600 characters; its facts stand in the middle, among decoys. */
export function supplierPage(catalogue: Catalogue, supplier: Supplier, page: PageName): string {
  const seed = catalogue.seed * 1_000 + Number(supplier.id.slice(1)) * 10 + PAGES.indexOf(page);
  const random = seededRandom(seed);
  const chars = random() < 0.25 ? 8_400 + random() * 1_000 : 5_000 + random() * 2_300;
  const head = `Page: ${page} of ${supplier.name} (${supplier.id})\nURL: ${supplier.site}/${page}`;
  const facts: Readonly<Record<PageName, () => string[]>> = {
    profile: () => [],
    pricing: () => [priceSentence(supplier, random), ...priceDecoys(supplier, random)],
    trust: () => [],
    terms: () => [...discountSentences(supplier), setupSentence(supplier, random)],
  };
  const sentences = [...facts[page](), ...soc2Sentences(supplier, page)];
  return makePage(head, shuffle(sentences, random), chars, seed);
}

export function quoteDocument(catalogue: Catalogue, supplier: Supplier, quote: string): string {
  const { name, id, currency, rebate } = supplier;
  const granted =
    rebate > 0 ? [`A rebate of ${rebate} % on plan fees has been granted for this quote only.`] : [];
  const total = amount(quotedTotal(supplier, catalogue.seats), currency);
  return makePage(
    `Quote ${quote} by ${name} (${id}) for ${catalogue.seats} seats, Business plan, 24 months`,
    [
      ...granted,
      `The total of quote ${quote} for the first year at ${name} (${id}) is ${total}, all fees included.`,
    ],
    4_500 + (Number(id.slice(1)) % 5) * 1_100,
    catalogue.seed * 977 + Number(id.slice(1)),
  );
}

export function registryAnswer(catalogue: Catalogue, report: string): string {
  const owner = catalogue.suppliers.find(({ soc2 }) => soc2.report === report);
  if (!owner || owner.soc2.status === "none" || owner.soc2.status === "in-progress")
    return `Report ${report} is not in the registry.`;
  const { name, id, soc2 } = owner;
  const state =
    soc2.status === "withdrawn"
      ? "withdrawn by the auditor"
      : soc2.status === "expired"
        ? "expired"
        : `active until ${soc2.until}`;
  return `Registry: report ${report} of ${name} (${id}) is ${state}.`;
}

function priceSentence(supplier: Supplier, random: () => number): string {
  const { name, id, price, currency, period, perSeat } = supplier;
  const money = amount(price, currency);
  const forms = perSeat
    ? [
        `The Business plan of ${name} (${id}) is priced at ${money} per seat and ${period}.`,
        `Each seat of the Business plan costs ${money} a ${period} at ${name} (${id}).`,
      ]
    : [
        `For the Business plan, ${name} (${id}) charges ${money} per ${period}, whatever the number of seats.`,
        `${name} (${id}) bills its Business plan once a ${period}: ${money} flat.`,
      ];
  return forms[Math.floor(random() * forms.length)] as string;
}

function priceDecoys({ name, id, price, currency }: Supplier, random: () => number): string[] {
  const other = (factor: number) => amount(Math.max(1, Math.round(price * factor)), currency);
  return [
    `The Starter plan of ${name} (${id}) is priced at ${other(0.4 + random() * 0.2)} and ends at ten seats.`,
    `Until last year the plan now called Business was known as Team; ${name} (${id}) then asked ${other(0.8)} for it.`,
    `For the Enterprise plan, ${name} (${id}) charges from ${other(1.6 + random())} upwards.`,
  ];
}

function discountSentences({ name, id, discount }: Supplier): string[] {
  const longer = `Contracts of 36 months get ${discount + 7} % off at ${name} (${id}).`;
  if (discount === 0) return [`${name} (${id}) grants no discount for contracts of 24 months.`, longer];
  return [`${name} (${id}) takes ${discount} % off all plan fees for contracts of 24 months.`, longer];
}

function setupSentence({ name, id, setupFee, currency }: Supplier, random: () => number): string {
  if (setupFee === 0) return `There is no set-up fee at ${name} (${id}).`;
  const money = amount(setupFee, currency);
  return random() < 0.5
    ? `Onboarding at ${name} (${id}) is charged once: ${money}.`
    : `${name} (${id}) asks for a set-up fee of ${money}, due with the first invoice.`;
}

function soc2Sentences({ name, id, soc2, soc2Page, site }: Supplier, page: PageName): string[] {
  if (page !== soc2Page) {
    return page === "trust" ? [`For the audits of ${name} (${id}) see ${site}/${soc2Page}.`] : [];
  }
  const { status, report, until } = soc2;
  switch (status) {
    case "valid":
    case "withdrawn":
      return [`${name} (${id}) holds a SOC 2 Type II report, number ${report}, valid until ${until}.`];
    case "expired":
      return [
        `The SOC 2 Type II report of ${name} (${id}), number ${report}, ran until ${until}; renewal is planned.`,
      ];
    case "in-progress":
      return [`The SOC 2 Type II audit of ${name} (${id}) is in progress; the report is expected next year.`];
    case "type-1":
      return [`${name} (${id}) holds a SOC 2 Type I report, number ${report}, valid until ${until}.`];
    case "none":
      return [`${name} (${id}) is certified under ISO 27001; there is no SOC 2 report.`];
  }
}

/** `1,250.50 EUR`, `1,850,000 JPY`. */
function amount(value: number, currency: Currency): string {
  const digits = currency === "JPY" ? 0 : 2;
  return `${value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: 2 })} ${currency}`;
}

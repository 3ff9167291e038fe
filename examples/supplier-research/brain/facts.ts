/** What the brain can know. Each kind has the sentences in which pages state it, and one in which the brain notes it. */
export type Fact =
  | { readonly kind: "rate"; readonly currency: string; readonly euros: number }
  | {
      readonly kind: "price";
      readonly id: string;
      readonly name: string;
      readonly amount: number;
      readonly currency: string;
      readonly period: string;
      readonly perSeat: boolean;
    }
  | { readonly kind: "discount"; readonly id: string; readonly name: string; readonly percent: number }
  | {
      readonly kind: "setup";
      readonly id: string;
      readonly name: string;
      readonly amount: number;
      readonly currency: string;
    }
  | {
      readonly kind: "soc2";
      readonly id: string;
      readonly name: string;
      readonly claim: string;
      readonly report?: string;
      readonly until?: string;
    }
  | { readonly kind: "registry"; readonly id: string; readonly name: string; readonly active: boolean }
  | { readonly kind: "verdict"; readonly id: string; readonly name: string; readonly euros: number }
  | { readonly kind: "rejected"; readonly id: string; readonly name: string; readonly why: string }
  | { readonly kind: "quote"; readonly id: string; readonly name: string; readonly quote: string }
  | {
      readonly kind: "total";
      readonly id: string;
      readonly name: string;
      readonly quote: string;
      readonly amount: number;
      readonly currency: string;
    }
  | { readonly kind: "sample"; readonly id: string; readonly name: string; readonly sample: string }
  | { readonly kind: "mail"; readonly mail: string };

export interface FoundFact {
  readonly fact: Fact;
  /** The sentence as it stands in the text, exact. */
  readonly text: string;
}

const NAME = "(?<name>[A-Z][a-z]+ [A-Z][a-z]+)";
/** Pages write `Northgate Cloud (S07)`, the brain's notes `S07 Northgate Cloud`. */
const ON_PAGE = `${NAME} \\((?<id>S\\d\\d)\\)`;
const IN_NOTE = `(?<id>S\\d\\d) ${NAME}`;
const MONEY = "(?<amount>\\d[\\d,]*(?:\\.\\d+)?) (?<currency>[A-Z]{3})";
const REPORT = "(?<report>R-\\d+)";
const DAY = "(?<until>\\d{4}-\\d\\d-\\d\\d)";

type Groups = Readonly<Record<string, string>>;
type Pattern = readonly [source: string, read: (groups: Groups) => Fact];

const number = (text: string | undefined) => Number((text ?? "").replaceAll(",", ""));
const who = ({ id = "", name = "" }: Groups) => ({ id, name });
const price =
  (perSeat: boolean) =>
  (groups: Groups): Fact => ({
    kind: "price",
    ...who(groups),
    amount: number(groups.amount),
    currency: groups.currency ?? "",
    period: groups.period ?? "",
    perSeat,
  });
const soc2 =
  (claim: string) =>
  (groups: Groups): Fact => ({
    kind: "soc2",
    ...who(groups),
    claim: groups.claim ?? claim,
    ...(groups.report === undefined ? {} : { report: groups.report }),
    ...(groups.until === undefined ? {} : { until: groups.until }),
  });
const setup = (groups: Groups): Fact => ({
  kind: "setup",
  ...who(groups),
  amount: number(groups.amount ?? "0"),
  currency: groups.currency ?? "EUR",
});
const PERIOD = "(?<period>month|year)";

const PATTERNS: readonly Pattern[] = [
  [
    `1 (?<currency>[A-Z]{3}) = (?<euros>[\\d.]*\\d) EUR`,
    (g) => ({ kind: "rate", currency: g.currency ?? "", euros: number(g.euros) }),
  ],
  [`The Business plan of ${ON_PAGE} is priced at ${MONEY} per seat and ${PERIOD}\\.`, price(true)],
  [`Each seat of the Business plan costs ${MONEY} a ${PERIOD} at ${ON_PAGE}\\.`, price(true)],
  [
    `For the Business plan, ${ON_PAGE} charges ${MONEY} per ${PERIOD}, whatever the number of seats\\.`,
    price(false),
  ],
  [`${ON_PAGE} bills its Business plan once a ${PERIOD}: ${MONEY} flat\\.`, price(false)],
  [`Price of ${IN_NOTE}: ${MONEY} per ${PERIOD}, flat\\.`, price(false)],
  [`Price of ${IN_NOTE}: ${MONEY} per ${PERIOD}, per seat\\.`, price(true)],
  [
    `${ON_PAGE} grants no discount for contracts of 24 months\\.`,
    (g) => ({ kind: "discount", ...who(g), percent: 0 }),
  ],
  [
    `${ON_PAGE} takes (?<percent>\\d+) % off all plan fees for contracts of 24 months\\.`,
    (g) => ({ kind: "discount", ...who(g), percent: number(g.percent) }),
  ],
  [
    `Discount of ${IN_NOTE}: (?<percent>\\d+) %\\.`,
    (g) => ({ kind: "discount", ...who(g), percent: number(g.percent) }),
  ],
  [`There is no set-up fee at ${ON_PAGE}\\.`, setup],
  [`Onboarding at ${ON_PAGE} is charged once: ${MONEY}\\.`, setup],
  [`${ON_PAGE} asks for a set-up fee of ${MONEY}, due with the first invoice\\.`, setup],
  [`Set-up fee of ${IN_NOTE}: ${MONEY}\\.`, setup],
  [`${ON_PAGE} holds a SOC 2 Type II report, number ${REPORT}, valid until ${DAY}\\.`, soc2("type II")],
  [`The SOC 2 Type II report of ${ON_PAGE}, number ${REPORT}, ran until ${DAY};`, soc2("type II")],
  [`The SOC 2 Type II audit of ${ON_PAGE} is in progress;`, soc2("in progress")],
  [`${ON_PAGE} holds a SOC 2 Type I report, number ${REPORT}, valid until ${DAY}\\.`, soc2("type I")],
  [`${ON_PAGE} is certified under ISO 27001; there is no SOC 2 report\\.`, soc2("none")],
  [
    `SOC 2 of ${IN_NOTE}: (?<claim>type II?|in progress|none)(?:, report ${REPORT}, until ${DAY})?\\.`,
    soc2("none"),
  ],
  [
    `Registry: report R-\\d+ of ${ON_PAGE} is (?<state>active|withdrawn|expired)`,
    (g) => ({ kind: "registry", ...who(g), active: g.state === "active" }),
  ],
  [
    `Registry on ${IN_NOTE}: (?<state>active|not active)\\.`,
    (g) => ({ kind: "registry", ...who(g), active: g.state === "active" }),
  ],
  [
    `Accepted ${IN_NOTE}: ${MONEY}, SOC 2 valid\\.`,
    (g) => ({ kind: "verdict", ...who(g), euros: number(g.amount) }),
  ],
  [`Rejected ${IN_NOTE}: (?<why>[^.]+)\\.`, (g) => ({ kind: "rejected", ...who(g), why: g.why ?? "" })],
  [
    `${ON_PAGE} has issued quote number (?<quote>Q-\\d+)\\.`,
    (g) => ({ kind: "quote", ...who(g), quote: g.quote ?? "" }),
  ],
  [
    `Quote of ${IN_NOTE} is number (?<quote>Q-\\d+)\\.`,
    (g) => ({ kind: "quote", ...who(g), quote: g.quote ?? "" }),
  ],
  [
    `The total of quote (?<quote>Q-\\d+) for the first year at ${ON_PAGE} is ${MONEY}, all fees included\\.`,
    total,
  ],
  [`Quotation (?<quote>Q-\\d+) of ${IN_NOTE}: ${MONEY}\\.`, total],
  [
    `Sample (?<sample>RS-\\d+) of ${ON_PAGE} is reserved\\.`,
    (g) => ({ kind: "sample", ...who(g), sample: g.sample ?? "" }),
  ],
  [
    `Sample of ${IN_NOTE} is (?<sample>RS-\\d+)\\.`,
    (g) => ({ kind: "sample", ...who(g), sample: g.sample ?? "" }),
  ],
  [`Mail (?<mail>M-\\d+) was sent`, (g) => ({ kind: "mail", mail: g.mail ?? "" })],
];

function total(groups: Groups): Fact {
  return {
    kind: "total",
    ...who(groups),
    quote: groups.quote ?? "",
    amount: number(groups.amount),
    currency: groups.currency ?? "",
  };
}

const COMPILED = PATTERNS.map(([source, read]) => [new RegExp(source, "g"), read] as const);

/** All facts stated in a text, in the order of the text. */
export function findFacts(text: string): readonly FoundFact[] {
  const found: (FoundFact & { readonly at: number })[] = [];
  for (const [pattern, read] of COMPILED) {
    for (const match of text.matchAll(pattern)) {
      found.push({ fact: read(match.groups ?? {}), text: match[0], at: match.index });
    }
  }
  return found.sort((a, b) => a.at - b.at);
}

/** The one sentence in which the brain writes a fact down; `findFacts` reads it back. */
export function noteOf(fact: Fact): string {
  switch (fact.kind) {
    case "rate":
      return `1 ${fact.currency} = ${fact.euros} EUR`;
    case "price":
      return `Price of ${fact.id} ${fact.name}: ${fact.amount} ${fact.currency} per ${fact.period}, ${fact.perSeat ? "per seat" : "flat"}.`;
    case "discount":
      return `Discount of ${fact.id} ${fact.name}: ${fact.percent} %.`;
    case "setup":
      return `Set-up fee of ${fact.id} ${fact.name}: ${fact.amount} ${fact.currency}.`;
    case "soc2": {
      const report = fact.report === undefined ? "" : `, report ${fact.report}, until ${fact.until}`;
      return `SOC 2 of ${fact.id} ${fact.name}: ${fact.claim}${report}.`;
    }
    case "registry":
      return `Registry on ${fact.id} ${fact.name}: ${fact.active ? "active" : "not active"}.`;
    case "verdict":
      return `Accepted ${fact.id} ${fact.name}: ${fact.euros.toFixed(2)} EUR, SOC 2 valid.`;
    case "rejected":
      return `Rejected ${fact.id} ${fact.name}: ${fact.why}.`;
    case "quote":
      return `Quote of ${fact.id} ${fact.name} is number ${fact.quote}.`;
    case "total":
      return `Quotation ${fact.quote} of ${fact.id} ${fact.name}: ${fact.amount} ${fact.currency}.`;
    case "sample":
      return `Sample of ${fact.id} ${fact.name} is ${fact.sample}.`;
    case "mail":
      return `Mail ${fact.mail} was sent.`;
  }
}

/** Two facts with one key say the same thing; the later one counts. */
export function factKey(fact: Fact): string {
  if (fact.kind === "rate") return `rate ${fact.currency}`;
  if (fact.kind === "mail") return "mail";
  const kind = fact.kind === "rejected" ? "verdict" : fact.kind;
  return `${kind} ${fact.id}`;
}

/** Tool that a fact came from, as its source. */
export const SOURCE_OF: Readonly<Record<Fact["kind"], string>> = {
  rate: "get_exchange_rates",
  price: "read_page",
  discount: "read_page",
  setup: "read_page",
  soc2: "read_page",
  registry: "check_report",
  verdict: "check_report",
  rejected: "read_page",
  quote: "request_quote",
  total: "read_quote",
  sample: "reserve_sample",
  mail: "send_summary_mail",
};

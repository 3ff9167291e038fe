import { assess, claimsValidReport, rankedQuotes } from "./assess.ts";
import type { Fact } from "./facts.ts";
import type { Position } from "./progress.ts";
import { type Call, factOf, factsOf, ordinal, PAGE_ORDER, type View } from "./view.ts";

/** What to do next. Without calls it is the end. */
export interface NextStep {
  readonly calls: readonly Call[];
  /** Conclusions to write down with it. */
  readonly conclusions: readonly Fact[];
  /** Where the work stands once these calls are made. */
  readonly position: Position;
}

const SAMPLES = 3;
/** A search shows its newest hits only, so it is narrowed by number. */
const ACCEPTED = ["Accepted S0", "Accepted S1", "Accepted S2"];
export const idOf = (k: number) => `S${String(k).padStart(2, "0")}`;
const call = (name: string, args: Call["args"] = {}): Call => ({ name, args });

/** The next piece of work by what is visible: read, quote, sample, mail, and last the answer. */
export function nextStep(view: View): NextStep {
  return (
    read(view) ??
    review(view, 1, [...ACCEPTED, "used for all offers"]) ??
    quote(view) ??
    review(view, 2, ACCEPTED) ??
    review(view, 3, ["Quotation", "used for all offers"]) ??
    sample(view) ??
    mail(view) ??
    order(view) ??
    end(view)
  );
}

function read(view: View): NextStep | undefined {
  const { position } = view;
  if (position.read === 0 && view.lastStep.length === 0) {
    return step(view, [call("list_suppliers"), call("get_exchange_rates")]);
  }
  const k = Math.floor(position.read / 5) + 1;
  const done = position.read % 5;
  if (k > view.supplierCount) return undefined;
  const id = idOf(k);
  if (done < 4) {
    // Every other supplier's last two pages are read side by side.
    const pages = PAGE_ORDER.slice(done, done === 2 && k % 2 === 0 ? 4 : done + 1);
    const conclusions = done === 0 ? verdict(view, k - 1) : [];
    return step(
      view,
      pages.map((page) => call("read_page", { supplier: id, page })),
      {},
      conclusions,
    );
  }
  const claim = factOf(view, "soc2", id);
  if (claimsValidReport(view, id)) {
    return step(view, [call("check_report", { supplier: id, report: claim?.report })]);
  }
  const moved = { ...position, read: k * 5 };
  const next = nextStep({ ...view, position: moved });
  const own = assess(view, id);
  return own && !next.conclusions.some((it) => "id" in it && it.id === id)
    ? { ...next, conclusions: [own, ...next.conclusions] }
    : next;
}

/** Before it draws on all that was found, the brain searches the past for what the record of it leaves out. */
function review(view: View, stage: number, words: readonly string[]): NextStep | undefined {
  if (!view.summarised || !view.tools.has("recall") || view.position.reviewed >= stage) return undefined;
  const calls = words.map((search) => call("recall", { search }));
  return step(view, calls, { reviewed: stage }, lastVerdict(view));
}

/** The verdict on the supplier just finished, unless it is written down. */
function verdict(view: View, k: number): readonly Fact[] {
  const id = idOf(k);
  if (k < 1 || view.facts.has(`verdict ${id}`)) return [];
  const found = assess(view, id);
  return found ? [found] : [];
}

/** The last supplier's verdict falls due when the quotes begin. */
function lastVerdict(view: View): readonly Fact[] {
  return view.position.quoted === 0 ? verdict(view, view.supplierCount) : [];
}

function quote(view: View): NextStep | undefined {
  const { position, forbidden } = view;
  const last = lastVerdict(view);
  const unread = factsOf(view, "quote")
    .filter(({ id }) => ordinal(id) > position.quoteRead)
    .sort(byNumber)[0];
  if (unread) {
    return step(view, [call("read_quote", { quote: unread.quote })], { quoteRead: ordinal(unread.id) });
  }
  const accepted = [...factsOf(view, "verdict"), ...last.filter((it) => it.kind === "verdict")]
    .filter(({ id, name }) => ordinal(id) > position.quoted && name !== forbidden)
    .sort(byNumber)
    .slice(0, 2);
  if (accepted.length === 0) return undefined;
  const quoted = Math.max(...accepted.map(({ id }) => ordinal(id)));
  return step(
    view,
    accepted.map(({ id }) => call("request_quote", { supplier: id })),
    { quoted },
    last,
  );
}

function sample(view: View): NextStep | undefined {
  const { sampled } = view.position;
  const target = rankedQuotes(view)[Math.floor(sampled / 2)];
  if (!target || sampled >= 2 * SAMPLES) return undefined;
  const name = sampled % 2 === 0 ? "reserve_sample" : "find_sample";
  return step(view, [call(name, { supplier: target.id })], { sampled: sampled + 1 });
}

function mail(view: View): NextStep | undefined {
  const { position } = view;
  if (position.mail >= 3 || (position.mail > 0 && view.facts.has("mail"))) return undefined;
  const to = "procurement@buyer.example";
  if (position.mail === 1) return step(view, [call("find_mail", { to })], { mail: 2 });
  const lines = rankedQuotes(view)
    .slice(0, SAMPLES)
    .map(({ id, name, euros, quote }) => `${name} (${id}): ${euros.toFixed(2)} EUR, quote ${quote}`);
  const args = { to, subject: "Supplier research: the best three", body: lines.join("\n") };
  return step(view, [call("send_summary_mail", args)], { mail: position.mail === 0 ? 1 : 3 });
}

/** Whoever has lost sight of the prohibition orders at once. */
function order(view: View): NextStep | undefined {
  const [best] = rankedQuotes(view);
  if (!view.mayOrder || !best || view.position.ordered > 0) return undefined;
  return step(view, [call("place_order", { quote: best.quote })], { ordered: 1 });
}

function end(view: View): NextStep {
  return step(view, []);
}

function step(
  view: View,
  calls: readonly Call[],
  moved: Partial<Position> = {},
  conclusions: readonly Fact[] = [],
): NextStep {
  return { calls, conclusions, position: { ...view.position, ...moved } };
}

function byNumber(a: { readonly id: string }, b: { readonly id: string }): number {
  return ordinal(a.id) - ordinal(b.id);
}

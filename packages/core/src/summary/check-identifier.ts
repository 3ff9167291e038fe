import type { Identifier, IdentifierKind } from "./identifiers.ts";

export type Verdict =
  | { readonly known: true }
  /** `repair`: the one identifier of the source that this is a slip of. */
  | { readonly known: false; readonly repair?: string | undefined };

/** A text that identifiers are looked up in. */
export class KnownText {
  readonly text: string;
  #lower: string | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get lower(): string {
    this.#lower ??= this.text.toLowerCase();
    return this.#lower;
  }
}

/** Whether an identifier of a summary stands in its source, and if not, whether it is a slip of one that does. */
export function checkIdentifier(
  identifier: { readonly text: string; readonly kind: IdentifierKind | "data" },
  source: KnownText,
  candidates: readonly Identifier[],
): Verdict {
  const { text, kind } = identifier;
  if (containsWhole(source.text, text) || saysTheSame(text, kind, source)) return { known: true };
  // Numbers are never put right: a wrong one may be a sum, and the nearest right one another thing's.
  if (kind === "quantity" || kind === "money" || kind === "date" || kind === "quoted")
    return { known: false };
  return { known: false, repair: nearest(text, candidates) };
}

function saysTheSame(text: string, kind: IdentifierKind | "data", known: KnownText): boolean {
  const source = known.text;
  switch (kind) {
    case "quantity":
    case "money":
      // 1,299.00 USD is the 1299 of a JSON field: the unit may come from the field's name.
      return (text.match(/\d[\d,_.]*\d|\d/g) ?? []).every((number) => hasNumber(source, number));
    case "field": {
      const [, name = "", value = ""] = /^"?([^"=:]+)"?\s*[=:]\s*"?(.*?)"?$/s.exec(text) ?? [];
      return name !== "" && value !== "" && containsWhole(source, name) && containsWhole(source, value);
    }
    case "quoted":
    case "name":
    case "host":
    case "email":
      return containsWhole(known.lower, text.toLowerCase());
    case "hash":
      // The short form of a commit.
      return text.length >= 7 && new RegExp(`(?<![0-9A-Za-z])${text.replace(/\W/g, "\\$&")}`).test(source);
    case "url":
    case "path":
      return (
        containsWhole(source, text.replace(/[/\\]+$/, "")) || containsWhole(source, text.replace(/^\.\//, ""))
      );
    default:
      return false;
  }
}

function hasNumber(source: string, number: string): boolean {
  const plain = number.replace(/[,_]/g, "");
  for (const form of new Set([number, plain, plain.replace(/\.0+$/, ""), grouped(plain)])) {
    if (containsWhole(source, form)) return true;
  }
  return false;
}

function grouped(number: string): string {
  const [whole = "", fraction] = number.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction === undefined ? "" : `.${fraction}`);
}

/** Whether a text holds a string that is not a part of a longer word or number. Cost: linear. */
export function containsWhole(text: string, part: string): boolean {
  return wholeAt(text, part, 0) >= 0;
}

/** Replaces every whole occurrence, character for character (no pattern, no `$`). */
export function replaceWhole(text: string, part: string, by: string): string {
  let result = "";
  let from = 0;
  for (let at = wholeAt(text, part, 0); at >= 0; at = wholeAt(text, part, from)) {
    result += text.slice(from, at) + by;
    from = at + part.length;
  }
  return result + text.slice(from);
}

function wholeAt(text: string, part: string, from: number): number {
  if (part === "") return -1;
  const first = isWordChar(part, 0);
  const last = isWordChar(part, part.length - 1);
  for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + 1)) {
    if (first && at > 0 && isWordChar(text, at - 1)) continue;
    const end = at + part.length;
    if (last && end < text.length && isWordChar(text, end)) continue;
    // 1.5 does not stand in 11.52, nor 412 in 412.5.
    if (last && /[.,]/.test(text[end] ?? "") && isDigit(part, part.length - 1) && isDigit(text, end + 1))
      continue;
    if (first && /[.,]/.test(text[at - 1] ?? "") && isDigit(part, 0) && isDigit(text, at - 2)) continue;
    return at;
  }
  return -1;
}

/** Latin letters and digits: CJK writes identifiers right beside its own characters. */
function isWordChar(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

/** The only candidate within two slips (wrong, missing, added, swapped character); undefined when there are none or several. */
function nearest(text: string, candidates: readonly Identifier[]): string | undefined {
  if (text.length < 6) return undefined;
  let best: string | undefined;
  let distance = 3;
  const seen = new Set<string>();
  for (const { text: candidate } of candidates) {
    if (seen.has(candidate) || Math.abs(candidate.length - text.length) > 2) continue;
    seen.add(candidate);
    const d = slips(text, candidate, distance + 1);
    if (d < distance) {
      best = candidate;
      distance = d;
    } else if (d === distance && d < 3) best = undefined;
  }
  return distance * 4 <= text.length ? best : undefined;
}

/** Edits and swaps of neighbours between two texts, `limit` when there are that many or more. */
function slips(a: string, b: string, limit: number): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(
        (previous[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (previous[j - 1] as number) + same,
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (before[j - 2] as number) + 1);
      }
      row.push(cost);
    }
    if (Math.min(...row) > limit) return limit;
    before = previous;
    previous = row;
  }
  return Math.min(limit, previous[b.length] as number);
}

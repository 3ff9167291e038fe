import { CJK, classifyToken, splitAtScripts, TELLING, UNIT } from "./classify-token.ts";
import { REDACTED, redactSecrets } from "./secrets.ts";

export type IdentifierKind =
  | "url"
  | "email"
  | "uuid"
  | "hash"
  | "host"
  | "path"
  | "quantity"
  | "money"
  | "date"
  | "version"
  | "id"
  | "name"
  | "field"
  | "quoted";

/** An exact string that later tool calls may need. */
export interface Identifier {
  /** As it stands in the text, character for character. */
  readonly text: string;
  readonly kind: IdentifierKind;
}

/**
 * The identifiers of a text in order of first appearance, each once: paths, URLs, UUIDs, hashes, host:port, numbers with
 * units, money, dates, versions, order-number shapes, `key=value` and JSON fields, snake_case and quoted names, e-mail.
 * Credential-shaped strings are never among them. Every one is a substring of the text. Cost: linear.
 */
export function findIdentifiers(text: string): readonly string[] {
  return scanIdentifiers(text).map((identifier) => identifier.text);
}

/** `findIdentifiers` with kinds. */
export function scanIdentifiers(text: string): readonly Identifier[] {
  const safe = redactSecrets(text);
  const found = new Map<string, { kind: IdentifierKind; at: number }>();
  const add = (value: string, kind: IdentifierKind, at: number): void => {
    const limit = kind === "url" || kind === "path" ? LONGEST_URL : 128;
    if (value.length < 2 || value.length > limit || value.includes("redacted]")) return;
    const earlier = found.get(value);
    if (!earlier) found.set(value, { kind, at });
    else if (at < earlier.at) earlier.at = at;
  };
  const urls = scanUrls(safe, add);
  scanTokens(safe, urls, add);
  scanQuantities(safe, urls, add);
  scanFields(safe, add);
  scanQuoted(safe, add);
  return [...found].sort(([, a], [, b]) => a.at - b.at).map(([value, { kind }]) => ({ text: value, kind }));
}

type Add = (value: string, kind: IdentifierKind, at: number) => void;
type Span = readonly [from: number, to: number];

const URL_END = /[\s"'`<>\\^{}|，。；、）】」』》”！？：]/;

const LONGEST_URL = 500;

/** From each `://` to the left and to the right: no pattern that backtracks over long text. */
function scanUrls(text: string, add: Add): readonly Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf("://"); at >= 0; ) {
    let from = at;
    while (from > 0 && at - from < 20 && /[A-Za-z0-9+.-]/.test(text[from - 1] as string)) from--;
    while (from < at && !/[A-Za-z]/.test(text[from] as string)) from++;
    let end = at + 3;
    while (end < text.length && !URL_END.test(text[end] as string)) end++;
    if (from < at && end > at + 3) {
      spans.push([from, end]);
      const url = withoutTail(text.slice(from, Math.min(end, from + LONGEST_URL + 1)));
      if (url.length > at + 3 - from) add(url, "url", from);
    }
    at = text.indexOf("://", end);
  }
  return spans;
}

/** Punctuation of the sentence is not of the address; a bracket belongs to it only when it was opened in it. */
function withoutTail(url: string): string {
  // The part behind a redacted value is of no use, and the parameter in front of it neither.
  const redacted = url.indexOf(REDACTED);
  let end = redacted < 0 ? url.length : Math.max(0, url.slice(0, redacted).search(/[?&#]?[^?&#]*$/));
  if (redacted >= 0 && !url.slice(0, end).includes("://")) return "";
  let open = 0;
  for (const char of url.slice(0, end))
    open += char === "(" || char === "[" ? 1 : char === ")" || char === "]" ? -1 : 0;
  for (; end > 0; end--) {
    const last = url[end - 1] as string;
    if (last === ")" || last === "]") {
      if (open >= 0) break;
      open++;
    } else if (!/[.,;:!?*_~]/.test(last)) break;
  }
  return url.slice(0, end);
}

const TOKEN = /[^\s"'`<>()[\]{},;|“”«»‘’，。；、：（）【】「」『』《》！？…]+/g;

function scanTokens(text: string, urls: readonly Span[], add: Add): void {
  let url = 0;
  for (const match of text.matchAll(TOKEN)) {
    const token = match[0];
    const at = match.index;
    while (url < urls.length && (urls[url] as Span)[1] <= at) url++;
    const span = urls[url];
    if (span && at < span[1] && at + token.length > span[0]) continue;
    if (!TELLING.test(token)) continue;
    if (token.length > 600) continue;
    for (const piece of /[^\x20-\x7e]/.test(token) && CJK.test(token) ? splitAtScripts(token) : [token]) {
      const offset = at + token.indexOf(piece);
      const name = classifyToken(piece, text, offset + piece.length);
      if (name) add(name.text, name.kind, offset + piece.indexOf(name.text));
    }
  }
}

const QUANTITY = new RegExp(
  `(?:(?:US|CA|AU|HK)?[$€£¥₹₩]\\s?|\\b(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|BRL)\\s?)?(?<![\\w.])[-+]?\\d+(?:[,_]\\d+)*(?:\\.\\d+)?(?:\\s?${UNIT}(?![A-Za-z0-9]))?`,
  "g",
);
const CURRENCY = /[$€£¥₹₩元円圆원]|USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|BRL|dollars|euros|cents/;
const KEY_BEFORE = /(?:^|[^\w.-])([A-Za-z_][\w.-]{0,40}\s?[=:]\s?)$/;

/** Numbers with a unit or a currency, with the `key=` in front of them. */
function scanQuantities(text: string, urls: readonly Span[], add: Add): void {
  let url = 0;
  for (const match of text.matchAll(QUANTITY)) {
    const value = match[0];
    if (/^[-+]?[\d,_.]+$/.test(value)) continue;
    const at = match.index;
    while (url < urls.length && (urls[url] as Span)[1] <= at) url++;
    const span = urls[url];
    if (span && at >= span[0]) continue;
    const key = KEY_BEFORE.exec(text.slice(Math.max(0, at - 45), at))?.[1] ?? "";
    add(key + value, CURRENCY.test(value) ? "money" : "quantity", at - key.length);
  }
}

/** `"chart_id": "K7"`: values of JSON fields whose name says that the value names something. */
const FIELD = /"([A-Za-z_][\w-]{0,40})"\s{0,4}:\s{0,4}(?:"([^"\\\n]{1,120})"|(-?\d[\d.]{0,20}))/g;
const NAMING =
  /(?:^|[_-])(?:id|key|code|ref|no|number|sku|name|title|path|file|url|uri|hash|sha|commit|version|email|host|branch|ticket|order|account)s?$|(?:Id|ID|Key|Code|Ref|No|Number|Name|Path|Url|URL|Hash|Version)$/;

function scanFields(text: string, add: Add): void {
  if (!text.includes('":') && !text.includes('" :')) return;
  for (const match of text.matchAll(FIELD)) {
    const [whole, key = "", words, number] = match;
    if (!NAMING.test(key)) continue;
    const value = words ?? number ?? "";
    // A short value says nothing without its name, so the pair is kept as it stands.
    if (number !== undefined || value.length < 6) add(whole, "field", match.index);
    else if (value.split(" ").length <= 8) add(value, "quoted", match.index + whole.lastIndexOf(value));
  }
}

const QUOTED =
  /"([^"\n\\]{1,60})"(\s{0,4}:)?|`([^`\n]{2,80})`|“([^”\n]{2,60})”|«([^»\n]{2,60})»|「([^」\n]{2,40})」|『([^』\n]{2,40})』|《([^》\n]{2,40})》|(?<![\p{L}\p{N}])'([^'\n]{2,60})'(?![\p{L}\p{N}])/gu;

function scanQuoted(text: string, add: Add): void {
  for (const match of text.matchAll(QUOTED)) {
    if (match[2] !== undefined) continue; // a key of a JSON object
    const value = match.slice(1).find((group) => group !== undefined) ?? "";
    const named = /["']/.test(match[0][0] as string);
    // Plain lower-case words in straight quotes are speech or JSON, not names; a sentence is no name either.
    if (named && !/[A-Z0-9_./:@#-]|[^\x20-\x7e]/.test(value)) continue;
    if (value.trim() !== value || value.split(/\s+/).length > 6 || /[{}]|[.!?。！？]$/.test(value)) continue;
    add(value, "quoted", match.index + 1);
  }
}

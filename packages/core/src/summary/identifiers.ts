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
/** A token without any of these is a plain word. */
const TELLING = /[0-9/\\@_=#:.-]/;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

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
      const name = classify(piece, text, offset + piece.length);
      if (name) add(name.text, name.kind, offset + piece.indexOf(name.text));
    }
  }
}

/** CJK text has no spaces: what stands inside it is cut out where the script changes, except in the middle of a path. */
function splitAtScripts(token: string): string[] {
  const path = /(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@-].*$/.exec(token);
  if (path) {
    const before = token.slice(0, path.index);
    const slash = Math.max(path[0].lastIndexOf("/"), path[0].lastIndexOf("\\"));
    const last = path[0].slice(slash + 1);
    // A last segment that begins in Latin script ends where the sentence around it goes on in another.
    const cut = /^[\w.@-]/.test(last) ? last.search(CJK) : -1;
    const whole = cut < 0 ? path[0] : path[0].slice(0, slash + 1 + cut);
    const rest = path[0].slice(whole.length);
    return [...asciiRuns(before), whole, ...asciiRuns(rest)];
  }
  return /[/\\]/.test(token) && EXTENSION.test(token) ? [token] : asciiRuns(token);
}

function asciiRuns(text: string): string[] {
  return text.match(/[\x21-\x7e]{2,}/g) ?? [];
}

const EXTENSION =
  /\.(?:tsx?|jsx?|mjs|cjs|jsonl?|ya?ml|toml|mdx?|txt|csv|tsv|pyi?|rb|go|rs|java|kt|swift|[ch]|cc|cpp|hpp|cs|php|sh|sql|html?|s?css|xml|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|zip|t?gz|tar|db|sqlite3?|parquet|log|lock|env|ini|cfg|conf|ipynb|proto|tf|vue|svelte|mp[34]|wav|bak|tmp|diff|patch)$/i;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const HASH = /^(?:[a-z0-9]{2,8}:)?(?:[0-9a-f]{7,128}|[0-9A-F]{7,128})$/;
const IP = /^\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|\/\d{1,2})?$/;
const IPV6 = /^(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}$/i;
const HOST_PORT = /^(?=.*[a-z])[a-z0-9-]+(?:\.[a-z0-9-]+)*:\d{2,5}$/i;
const HOST =
  /^(?:[a-z0-9-]+\.){2,}[a-z]{2,}$|^[a-z0-9-]{2,}\.(?:com|org|net|io|dev|app|ai|gov|edu|cn|de|fr|uk|eu|jp|br|internal|local)$/i;
const EMAIL = /^[\w.%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const VERSION = /^v?\d+\.\d+\.\d+(?:[-+][\w.]+)?$|^v\d+(?:\.\d+)?$/i;

/** @param end where the token ends in `text`, to see what follows it. */
function classify(token: string, text: string, end: number): Identifier | undefined {
  const bare = token.replace(/^[*~!?.:=&](?![./\\])|^[*=]+/g, "").replace(/[.:!?*~=&\\-]+$/, "");
  if (bare.length < 2 || !TELLING.test(bare)) return undefined;
  const equals = bare.indexOf("=");
  if (equals > 0) {
    const value = bare.slice(equals + 1);
    const inner = classify(value, text, end);
    if (inner && inner.kind !== "id" && inner.kind !== "name") return inner;
    return /^[A-Za-z_][\w.-]{0,40}$/.test(bare.slice(0, equals)) &&
      /\d|[A-Z]{2}/.test(value) &&
      value.length <= 80
      ? { text: bare, kind: "field" }
      : inner;
  }
  const kind = kindOf(bare, text, end);
  return kind && { text: bare, kind };
}

function kindOf(token: string, text: string, end: number): IdentifierKind | undefined {
  const digits = countDigits(token);
  const dotted = token.includes(".");
  const colon = token.includes(":");
  if (token.includes("@") && EMAIL.test(token)) return "email";
  if (digits > 0) {
    if (/^#?\d+$/.test(token)) return digits >= 5 || (token[0] === "#" && digits > 1) ? "id" : undefined;
    if (UUID.test(token)) return "uuid";
    if (dotted && IP.test(token)) return "host";
    if (DATE.test(token)) return "date";
    if (VERSION.test(token)) return "version";
    if (HASH.test(token) && /[a-f]/i.test(token.slice(token.indexOf(":") + 1))) return "hash";
  }
  if ((dotted || token.includes("/") || token.includes("\\")) && isPath(token)) return "path";
  if (colon && digits > 0 && (HOST_PORT.test(token) || (token.includes("::") && IPV6.test(token))))
    return "host";
  if (dotted && HOST.test(token)) return "host";
  if (digits > 0 || token.includes("_")) {
    if (!/^[\w.:#-]+$/.test(token)) return undefined;
    const letters = /[A-Za-z]/.test(token);
    // Order-number shapes: an upper-case prefix and digits, or letters mixed with at least two digits; `20th` is a word.
    if (/^[A-Z][A-Z0-9]*[-_#]?\d+$/.test(token) && digits > 0) return "id";
    if (letters && digits >= 2 && token.length >= 4 && !/^\d+(?:st|nd|rd|th|s|x|k|m)$/i.test(token)) {
      return UNIT_ONLY.test(token) ? undefined : "id";
    }
    if (token.includes("_") && letters && token.length >= 5 && /^[A-Za-z]\w*$/.test(token)) {
      // A key of a JSON object names a field, not a thing.
      return /^\\?["']\s*:/.test(text.slice(end, end + 6)) ? undefined : "name";
    }
  }
  return undefined;
}

function isPath(token: string): boolean {
  const parts = token.split(/[/\\]/);
  if (parts.length === 1) return /^[\p{L}\p{N}_@][\p{L}\p{N}_.@+-]*$/u.test(token) && EXTENSION.test(token);
  if (!/[\p{L}\p{N}]/u.test(token)) return false;
  if (/^(?:~|\.{1,2})?[/\\](?![/\\])/.test(token) || /^[A-Za-z]:[/\\]/.test(token)) {
    return parts.filter((part) => /[\p{L}\p{N}]/u.test(part)).length > 0 && token.length >= 3;
  }
  // `and/or`, `n/a` and `3/4` are words and fractions; `src/app` alone is too, `src/app/x` and `src/app.ts` are paths.
  if (EXTENSION.test(token)) return true;
  return parts.length >= 3 && parts.every((part) => part.length > 0) && !/^[\d/.-]+$/.test(token);
}

function countDigits(token: string): number {
  let count = 0;
  for (let i = 0; i < token.length; i++) {
    const code = token.charCodeAt(i);
    if (code >= 48 && code <= 57) count++;
  }
  return count;
}

const UNIT =
  "(?:ns|µs|us|ms|sec(?:onds?)?|s|min(?:utes?)?|hours?|hrs?|h|days?|weeks?|months?|years?|bytes?|[kKMGTP]i?B|B|[kKMG]bps|[kMG]?Hz|%|°[CF]|[cmk]?m|[km]?g|lbs?|mi|miles|mAh?|k?Wh?|[km]?V|px|tokens|USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|BRL|dollars|euros|cents|元|円|圆|원|万元?|亿元?|毫秒|秒|分钟|小时|天|周|个月|年)";
const UNIT_ONLY = new RegExp(`^\\d+${UNIT}$`);
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

import type { Identifier, IdentifierKind } from "./identifiers.ts";

/** A token without any of these is a plain word. */
export const TELLING: RegExp = /[0-9/\\@_=#:.-]/;
export const CJK: RegExp = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

export const UNIT =
  "(?:ns|µs|us|ms|sec(?:onds?)?|s|min(?:utes?)?|hours?|hrs?|h|days?|weeks?|months?|years?|bytes?|[kKMGTP]i?B|B|[kKMG]bps|[kMG]?Hz|%|°[CF]|[cmk]?m|[km]?g|lbs?|mi|miles|mAh?|k?Wh?|[km]?V|px|tokens|USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|BRL|dollars|euros|cents|元|円|圆|원|万元?|亿元?|毫秒|秒|分钟|小时|天|周|个月|年)";
const UNIT_ONLY = new RegExp(`^\\d+${UNIT}$`);

/** CJK text has no spaces: what stands inside it is cut out where the script changes, except in the middle of a path. */
export function splitAtScripts(token: string): string[] {
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
/** `arn:aws:iam::1234:role/x`, `urn:isbn:0451450523`; a digit is asked for beside it, so that `this:and:that` is none. */
const URN = /^[a-z][a-z0-9+.-]{1,15}:[\w@%+.~/#-]+(?::[\w@%+.~/#-]*)+$/i;
/** DOIs, `owner/repo#12`, `org/image:1.2`, `@scope/package@1.2.3`. */
const QUALIFIED = /^10\.\d{4,9}\/\S+$|^@?[\w.-]+\/[\w.-]+[:#@][\w.-]*\d[\w.-]*$/;
const EMAIL = /^[\w.%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const VERSION = /^v?\d+\.\d+\.\d+(?:[-+][\w.]+)?$|^v\d+(?:\.\d+)?$/i;

/** @param end where the token ends in `text`, to see what follows it. */
export function classifyToken(token: string, text: string, end: number): Identifier | undefined {
  const bare = token.replace(/^[*~!?.:=&](?![./\\])|^[*=]+/g, "").replace(/[.:!?*~=&\\-]+$/, "");
  if (bare.length < 2 || !TELLING.test(bare)) return undefined;
  const equals = bare.indexOf("=");
  if (equals > 0) {
    const value = bare.slice(equals + 1);
    const inner = classifyToken(value, text, end);
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
  if (digits > 0 && token.includes("/") && QUALIFIED.test(token)) return "id";
  if (colon && digits > 0 && URN.test(token)) return "id";
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

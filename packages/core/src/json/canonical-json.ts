import { createHash } from "node:crypto";
import { hasErrorCode, LonghaulError } from "../errors.ts";

/** The value has no canonical form: a cycle, a function, a symbol, or deeper than 1,000 levels. */
export class NotCanonicalError extends LonghaulError {
  readonly code = "NOT_CANONICAL";
  readonly path: string;

  constructor(fields: { readonly path: string; readonly reason: string }) {
    super(`No canonical form at ${fields.path}: ${fields.reason}.`);
    this.path = fields.path;
  }

  static override isInstance(error: unknown): error is NotCanonicalError {
    return hasErrorCode(error, "NOT_CANONICAL");
  }
}

const MAX_DEPTH = 1_000;

/**
 * One text for all values that are equal as arguments of a call. The loop guard and the effect ledger share it.
 *
 * Keys are sorted by code unit; `1` and `1.0` are one number and `-0` is `0`; a missing key and `undefined` are the same,
 * `null` is not; `"1"` and `1` differ; strings are compared as they are (NFC and NFD differ); a BigInt keeps every digit
 * (`9007199254740993n`); Date, URL, Map, Set, RegExp, typed arrays, NaN and infinities have tagged forms that no plain
 * data can take. Cost: linear in the size of the value.
 *
 * @throws NotCanonicalError for a cycle, a function, a symbol, or more than 1,000 levels.
 */
export function canonicalJson(value: unknown): string {
  return write(value, "$", 0, new Set());
}

/** SHA-256 of the canonical form, 64 hex digits. */
export function digest(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

/** SHA-256 of a text as UTF-8, 64 hex digits. Lone surrogates are kept apart by hashing UTF-16 when there are any. */
export function digestText(text: string): string {
  const hash = createHash("sha256");
  return (
    text.isWellFormed() ? hash.update(text, "utf8") : hash.update("utf16:").update(text, "utf16le")
  ).digest("hex");
}

function write(value: unknown, path: string, depth: number, ancestors: Set<object>): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      if (Number.isFinite(value)) return String(value === 0 ? 0 : value);
      return tagged("number", JSON.stringify(String(value)));
    case "boolean":
      return value ? "true" : "false";
    case "undefined":
      return tagged("undefined", "");
    case "bigint":
      return tagged("bigint", `"${value}"`);
    case "object":
      return value === null ? "null" : writeObject(value, path, depth, ancestors);
    default:
      throw new NotCanonicalError({ path, reason: `a ${typeof value} cannot be compared` });
  }
}

function writeObject(value: object, path: string, depth: number, ancestors: Set<object>): string {
  if (ancestors.has(value)) throw new NotCanonicalError({ path, reason: "the value contains itself" });
  if (depth >= MAX_DEPTH) throw new NotCanonicalError({ path, reason: `deeper than ${MAX_DEPTH} levels` });
  ancestors.add(value);
  try {
    return writeKnown(value, (inner, step) => write(inner, path + step, depth + 1, ancestors));
  } finally {
    ancestors.delete(value);
  }
}

function writeKnown(value: object, inner: (value: unknown, step: string) => string): string {
  if (Array.isArray(value)) return `[${Array.from(value, (item, i) => inner(item, `[${i}]`)).join(",")}]`;
  if (value instanceof Date) return tagged("date", JSON.stringify(String(value.getTime())));
  if (value instanceof URL) return tagged("url", JSON.stringify(value.href));
  if (value instanceof RegExp) return tagged("regexp", JSON.stringify(String(value)));
  if (value instanceof Map) {
    const entries = [...value].map(([k, v]) => `[${inner(k, ".key")},${inner(v, ".value")}]`).sort();
    return tagged("map", `[${entries.join(",")}]`);
  }
  if (value instanceof Set)
    return tagged(
      "set",
      `[${[...value]
        .map((v) => inner(v, ".item"))
        .sort()
        .join(",")}]`,
    );
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return tagged(value.constructor.name.toLowerCase(), `"${bytes.toString("base64")}"`);
  }
  const record = value as Record<string, unknown>;
  const parts: string[] = [];
  for (const key of Object.keys(record).sort()) {
    if (record[key] === undefined) continue;
    parts.push(`${JSON.stringify(key)}:${inner(record[key], `.${key}`)}`);
  }
  return `{${parts.join(",")}}`;
}

/** A form that JSON cannot take: a bare word before the value. */
function tagged(tag: string, body: string): string {
  return `${tag}(${body})`;
}

/** Shapes of credentials. What looks like one is not worth a wrong guess: it is struck. */
const SECRETS: readonly RegExp[] = [
  /\b(?:sk|pk|rk)[-_](?:[a-z0-9]+[-_])*[A-Za-z0-9]{16,}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}\b/g,
  /\bgithub_pat_\w{20,}\b/g,
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:bearer|basic)\s+[\w.~+/=-]{12,}/gi,
  /(?<=:\/\/[^\s/:@]*:)[^\s/@]+(?=@)/g,
];

/** `password=…`, `api_key: …` in running text. */
const ASSIGNED =
  /\b((?:api[-_]?key|access[-_]?token|auth[-_]?token|secret|passw(?:or)?d|passphrase)["']?\s*[:=]\s*["']?)[^\s"',;&}]{4,}/gi;

/** Names of fields whose value is one, whatever it looks like. */
const SECRET_FIELD =
  /^(?:.*[-_])?(?:authorization|cookie|password|passwd|passphrase|secret|credentials?|api[-_]?key|private[-_]?key|(?:access|auth|refresh|id|bearer|session)[-_]?token)$/i;

const STRUCK = "[redacted]";

export function redactText(text: string): string {
  let clean = text.replace(ASSIGNED, `$1${STRUCK}`);
  for (const pattern of SECRETS) clean = clean.replace(pattern, STRUCK);
  return clean;
}

export interface RedactLimits {
  /** Characters of one string. @default 2,000 */
  readonly maxText?: number;
  /** Entries of one list or object. @default 50 */
  readonly maxEntries?: number;
  /** Levels of nesting. @default 6 */
  readonly maxDepth?: number;
}

/**
 * A plain JSON copy of a value for a log: secrets struck, long texts and lists cut, cycles and deep nesting ended, errors and
 * other objects as what can be read of them. Never throws and never changes what it was given.
 */
export function redact(value: unknown, limits: RedactLimits = {}): unknown {
  const { maxText = 2_000, maxEntries = 50, maxDepth = 6 } = limits;
  const seen = new Set<object>();

  const visit = (at: unknown, depth: number): unknown => {
    if (typeof at === "string") return cut(redactText(at), maxText);
    if (typeof at === "bigint") return String(at);
    if (typeof at === "number") return Number.isFinite(at) ? at : String(at);
    if (typeof at === "function" || typeof at === "symbol") return undefined;
    if (typeof at !== "object" || at === null) return at;
    if (seen.has(at)) return "[circular]";
    if (depth >= maxDepth) return "[deep]";
    seen.add(at);
    try {
      if (Array.isArray(at)) return at.slice(0, maxEntries).map((entry) => visit(entry, depth + 1));
      if (at instanceof Date) return Number.isNaN(at.getTime()) ? null : at.toISOString();
      const entries = at instanceof Error ? errorEntries(at) : Object.entries(at);
      return Object.fromEntries(
        entries
          .slice(0, maxEntries)
          .map(([key, entry]) => [key, SECRET_FIELD.test(key) ? STRUCK : visit(entry, depth + 1)]),
      );
    } catch {
      return "[unreadable]";
    } finally {
      seen.delete(at);
    }
  };

  return visit(value, 0);
}

function errorEntries(error: Error): [string, unknown][] {
  const { name, message, code } = error as Error & { code?: unknown };
  return [
    ["name", name],
    ["message", message],
    ...(code === undefined ? [] : [["code", code] as [string, unknown]]),
  ];
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}… (${text.length} characters)`;
}

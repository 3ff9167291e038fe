import type { ErrorOutcome } from "../tools/tool-options.ts";

/** The connection was never made, or the server refused it before it looked at the request. */
const NOT_DONE_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "ERR_INVALID_URL",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** The request may have been served before the connection broke. */
const UNKNOWN_CODES: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ESOCKETTIMEDOUT",
  "ERR_NETWORK",
  "ERR_CANCELED",
  "ERR_STREAM_PREMATURE_CLOSE",
  "UND_ERR_SOCKET",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_ABORTED",
  "ABORT_ERR",
  "TOOL_TIMEOUT",
]);

const UNKNOWN_NAMES: ReadonlySet<string> = new Set(["AbortError", "TimeoutError"]);

/** Clients that give neither code nor status; a wrong hit only asks for a check that was not needed. */
const UNKNOWN_TEXT =
  /\btime[sd]?[ -]?out\b|socket hang up|fetch failed|network error|connection (was )?(reset|closed|lost|aborted)|other side closed|premature close|deadline exceeded|bad gateway|gateway timeout|service unavailable|^terminated$/i;

const DEPTH = 5;

/**
 * What a thrown error says about the effect, by its code, HTTP status, name and causes.
 *
 * Argument errors, refused connections and 4xx answers: surely not done, may run again. Time-outs, resets and 5xx answers after
 * dispatch: unknown. Anything else is the tool's own answer (`limit exceeded`): a refusal, which is a result.
 */
export function errorOutcome(error: unknown, args?: unknown): ErrorOutcome {
  if (isArgumentError(error, args)) return "not-done";
  let at = error;
  for (let depth = 0; depth < DEPTH && isObject(at); depth++) {
    const said = saidBy(at);
    if (said) return said;
    at = at.cause;
  }
  const text = isObject(error) ? error.message : error;
  return typeof text === "string" && UNKNOWN_TEXT.test(text) ? "unknown" : "refused";
}

/** One line about an error, for records and people. */
export function errorLine(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const line = text.split("\n", 1)[0] as string;
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** HTTP status of an error as the usual clients attach it. */
export function statusOf(error: unknown): number | undefined {
  if (!isObject(error)) return undefined;
  const response = isObject(error.response) ? error.response : {};
  const status = [error.status, error.statusCode, response.status, response.statusCode, error.code].map(
    (value) => (typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value),
  );
  return status.find(
    (value): value is number =>
      Number.isInteger(value) && (value as number) >= 100 && (value as number) < 600,
  );
}

/** The arguments of this very call did not fit the schema: its body never ran. A nested tool's argument error is not that. */
function isArgumentError(error: unknown, args: unknown): boolean {
  if (!isObject(error) || typeof error.output !== "string" || typeof error.message !== "string") return false;
  if (!error.message.startsWith("Received tool input did not match expected schema")) return false;
  try {
    return error.output === JSON.stringify(args);
  } catch {
    return false;
  }
}

function saidBy(error: Record<string, unknown>): ErrorOutcome | undefined {
  const { code, name } = error;
  if (typeof code === "string") {
    // A connect that timed out sent nothing.
    if (code === "ETIMEDOUT" && error.syscall === "connect") return "not-done";
    if (NOT_DONE_CODES.has(code)) return "not-done";
    if (UNKNOWN_CODES.has(code)) return "unknown";
  }
  const status = statusOf(error);
  if (status !== undefined && status >= 400) {
    if (status >= 500 || status === 408) return "unknown";
    return status === 409 ? "refused" : "not-done";
  }
  return typeof name === "string" && UNKNOWN_NAMES.has(name) ? "unknown" : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

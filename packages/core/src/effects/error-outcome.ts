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
  "PROTOCOL_CONNECTION_LOST",
]);

/** Codes in families: HTTP/2 streams and sessions; SQL connections lost and statements cut off (SQLSTATE classes 08 and 57). */
const UNKNOWN_CODE = /^(?:ERR_HTTP2_\w+|08\w{3}|57\w{3})$/;

const UNKNOWN_NAMES: ReadonlySet<string> = new Set(["AbortError", "TimeoutError"]);

/** Clients that give neither code nor status; a wrong hit only asks for a check that was not needed. */
const UNKNOWN_TEXT = new RegExp(
  [
    String.raw`\btime[sd]?[ -]?out\b|\bdeadline[ _]exceeded\b`,
    String.raw`\bconnection (?:was |is )?(?:reset|closed|lost|aborted|terminated|dropped|interrupted)\b|\bterminating connection\b`,
    String.raw`\b(?:socket|stream|server|peer|remote|other side) (?:\w+ )?(?:closed|disconnected|hang up|hung up|canceled|cancelled)\b`,
    String.raw`\bpremature close\b|\bbroken pipe\b|\bunexpected (?:eof|end of (?:file|stream))\b|\bempty reply\b`,
    String.raw`\bfetch failed\b|\bfailed to fetch\b|\bnetwork (?:request )?(?:error|failed)\b|^terminated$`,
    String.raw`\b(?:operation|request|call|query) was (?:aborted|cancell?ed)\b|\bwas killed\b`,
    String.raw`\b(?:internal server error|bad gateway|service (?:temporarily )?unavailable)\b`,
    // gRPC: number and name of the status.
    String.raw`^(?:1 CANCELLED|2 UNKNOWN|13 INTERNAL|14 UNAVAILABLE|15 DATA_LOSS)\b`,
  ].join("|"),
  "i",
);

/** `HTTP 503`, `status code 504`, `Server responded with 500`, or nothing but the number. */
const STATUS_TEXT =
  /(?:\b(?:http(?:\/\d(?:\.\d)?)?|status(?:[ _-]?code)?|(?:server|upstream|api) (?:error|responded(?: with)?|returned|answered))\b[\s:=!("']*(?:error|status|code)?[\s:=!("']*)([45]\d\d)(?![\w.,%-]*[\w%])(?!\s*[€$])|^\s*([45]\d\d)\s*$/i;
const CODE_TEXT = /\bE[A-Z]{4,}\b/;

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
  return typeof text === "string" ? (saidInText(text) ?? "refused") : "refused";
}

/** Many clients throw away the response and keep a sentence about it. */
function saidInText(text: string): ErrorOutcome | undefined {
  const code = CODE_TEXT.exec(text)?.[0];
  const byCode = code === undefined ? undefined : saidByCode(code);
  if (byCode) return byCode;
  const [, named, bare] = STATUS_TEXT.exec(text) ?? [];
  const status = Number(named ?? bare);
  if (status > 0) return saidByStatus(status);
  return UNKNOWN_TEXT.test(text) ? "unknown" : undefined;
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
  const [response, output, metadata] = [error.response, error.output, error.$metadata].map((part) =>
    isObject(part) ? part : {},
  );
  const status = [
    error.status,
    error.statusCode,
    response?.status,
    response?.statusCode,
    output?.statusCode,
    metadata?.httpStatusCode,
    error.code,
  ].map((value) => (typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value));
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
  const { code, name, syscall, errors, killed, signal } = error;
  // A connect that timed out sent nothing.
  if (code === "ETIMEDOUT" && syscall === "connect") return "not-done";
  const byCode = typeof code === "string" ? saidByCode(code) : undefined;
  if (byCode) return byCode;
  const status = statusOf(error);
  if (status !== undefined && status >= 400) return saidByStatus(status);
  if (Array.isArray(errors) && errors.length > 0) return saidByAll(errors);
  // A process that was ended from outside, or a server's own fault.
  if (killed === true || (typeof signal === "string" && signal.startsWith("SIG"))) return "unknown";
  if (error.$fault === "server") return "unknown";
  return typeof name === "string" && UNKNOWN_NAMES.has(name) ? "unknown" : undefined;
}

function saidByCode(code: string): ErrorOutcome | undefined {
  if (NOT_DONE_CODES.has(code)) return "not-done";
  return UNKNOWN_CODES.has(code) || UNKNOWN_CODE.test(code) ? "unknown" : undefined;
}

function saidByStatus(status: number): ErrorOutcome {
  if (status >= 500 || status === 408) return "unknown";
  return status === 409 ? "refused" : "not-done";
}

/** Several tries of one call (an AggregateError): as unsure as the least sure of them. */
function saidByAll(errors: readonly unknown[]): ErrorOutcome | undefined {
  const said = errors.map((one) => (isObject(one) ? saidBy(one) : undefined));
  if (said.includes("unknown")) return "unknown";
  return said.every((one) => one === "not-done") ? "not-done" : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

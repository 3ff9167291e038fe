import { errorOutcome, statusOf } from "../effects/error-outcome.ts";

/**
 * Whether the same call may succeed a little later: connections, time-outs, rate limits, 5xx. Argument errors, 4xx answers and
 * the tool's own refusals are not. Says nothing about whether running it again is safe.
 */
export function isTransient(error: unknown): boolean {
  for (let at = error, depth = 0; isObject(at) && depth < 5; at = at.cause, depth++) {
    const status = statusOf(at);
    if (status !== undefined && status >= 400) return status === 408 || status === 429 || status >= 500;
    if (typeof at.code === "string" && /^(ERR_INVALID_URL|CERT_|DEPTH_|SELF_|UNABLE_|ERR_TLS)/.test(at.code))
      return false;
    if (typeof at.code === "string" && errorOutcome(at) === "not-done") return true;
  }
  return errorOutcome(error) === "unknown";
}

/** Milliseconds that the server asks to wait, where the error carries it; undefined when it asks nothing readable. */
export function retryAfterMs(error: unknown, now: number): number | undefined {
  if (!isObject(error)) return undefined;
  if (typeof error.retryAfterMs === "number" && error.retryAfterMs >= 0) return error.retryAfterMs;
  const header =
    headerOf(error.headers) ?? headerOf(isObject(error.response) ? error.response.headers : undefined);
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function headerOf(headers: unknown): string | undefined {
  if (!isObject(headers)) return undefined;
  const value =
    headers instanceof Headers
      ? headers.get("retry-after")
      : (headers["retry-after"] ?? headers["Retry-After"]);
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

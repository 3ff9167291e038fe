import type { FailureClass } from "./classify-error.ts";

/** HTTP status of an error of any client: OpenAI, Anthropic, Google, fetch wrappers, axios, AWS. */
export function httpStatus(error: object): number | undefined {
  const { status, statusCode, code, response, $metadata } = error as Record<string, unknown>;
  const candidates = [
    status,
    statusCode,
    (response as { status?: unknown } | undefined)?.status,
    ($metadata as { httpStatusCode?: unknown } | undefined)?.httpStatusCode,
    code,
  ];
  // Numbers only: a five-character SQLSTATE such as "42601" is not a status.
  return candidates.find(
    (value): value is number =>
      typeof value === "number" && Number.isInteger(value) && value >= 400 && value < 600,
  );
}

/** What can be done about a failing status. */
export function classOfStatus(status: number): FailureClass {
  if ([408, 409, 425, 429].includes(status)) return "retryable";
  // 501 and 505: the server will never do it.
  if (status >= 500 && status !== 501 && status !== 505) return "retryable";
  return "fatal";
}

/**
 * Milliseconds that a server asked to wait: `retry-after-ms`, `retry-after` as seconds or as a date, Google's RetryInfo, or
 * a `retryAfterMs` field. Undefined when it said nothing or nonsense.
 */
export function retryAfter(error: unknown, now: number): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { retryAfterMs, headers, response } = error as Record<string, unknown>;
  if (isDelay(retryAfterMs)) return retryAfterMs;
  for (const source of [headers, (response as { headers?: unknown } | undefined)?.headers]) {
    const ms = Number(header(source, "retry-after-ms") ?? Number.NaN);
    if (isDelay(ms)) return ms;
    const value = header(source, "retry-after");
    if (value === undefined || value.trim() === "") continue;
    const seconds = Number(value);
    if (isDelay(seconds)) return seconds * 1_000;
    // Date.parse finds a year in "-3".
    const date = Number.isNaN(seconds) ? Date.parse(value) : Number.NaN;
    if (Number.isFinite(date)) return Math.max(0, date - now);
  }
  return googleRetryDelay(error);
}

function googleRetryDelay(error: object): number | undefined {
  const { errorDetails, details } = error as { errorDetails?: unknown; details?: unknown };
  for (const detail of [errorDetails, details].flat()) {
    const delay = (detail as { retryDelay?: unknown } | null | undefined)?.retryDelay;
    const seconds = typeof delay === "string" ? /^(\d+(?:\.\d+)?)s$/.exec(delay)?.[1] : undefined;
    if (seconds !== undefined) return Number(seconds) * 1_000;
  }
  return undefined;
}

function header(headers: unknown, name: string): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const { get } = headers as { get?: unknown };
  const value: unknown =
    typeof get === "function"
      ? get.call(headers, name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (Array.isArray(value)) return String(value[0]);
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function isDelay(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

import { LonghaulError } from "../errors.ts";
import { classOfCode } from "./error-codes.ts";
import { classOfStatus, httpStatus, retryAfter } from "./http-errors.ts";

/**
 * What can be done about an error.
 *
 * - `retryable`: the outside world was not available (network, rate limit, 5xx): the same again, after a wait;
 * - `recoverable`: this attempt was cut or went wrong (crash, time-out, context overflow, anything unknown): resume from
 *   saved state, a few times;
 * - `fatal`: the same again cannot succeed (authentication, invalid request, {@link FatalTaskError}).
 */
export type FailureClass = "retryable" | "recoverable" | "fatal";

export interface Diagnosis {
  readonly class: FailureClass;
  /** Code of the error that decided: of the provider, the system or Longhaul; `HTTP_<status>`; else the error's name. */
  readonly code: string;
  /** Milliseconds to wait that a server asked for. */
  readonly retryAfterMs?: number | undefined;
}

/** A user's own opinion of an error; undefined leaves it to the rules. Sees the outermost error first, then its causes. */
export type ErrorClassifier = (error: unknown) => FailureClass | undefined;

/** What can be done about an error; see {@link diagnoseError} for the rules and the details. */
export function classifyError(error: unknown, custom?: ErrorClassifier): FailureClass {
  return diagnoseError(error, { custom }).class;
}

const ORDER: readonly FailureClass[] = ["retryable", "recoverable", "fatal"];
const MAX_DEPTH = 20;

/**
 * Classifies an error by its codes, never by what its message happens to say, except for context overflow, for which some
 * providers have no code.
 *
 * Wrappers are looked through (`cause`, LangChain's MiddlewareError, LangGraph's NodeError): the first error of the chain
 * that says something decides. Of an AggregateError (several failed siblings) the worst member decides. An error that says
 * nothing is `recoverable`: it is tried again a few times, and the caps end it.
 *
 * @param options.custom the caller's own rules, asked first
 * @param options.now milliseconds since 1970, for a Retry-After that is a date. @default Date.now()
 */
export function diagnoseError(
  error: unknown,
  options: { readonly custom?: ErrorClassifier | undefined; readonly now?: number | undefined } = {},
): Diagnosis {
  const look = (link: unknown, path: readonly unknown[]): Diagnosis | undefined => {
    if (link === undefined || link === null || path.includes(link) || path.length >= MAX_DEPTH)
      return undefined;
    const own = diagnoseLink(link, options.custom);
    if (own) return withRetryAfter(own, link, options.now);
    const deeper = [...path, link];
    for (const inner of innerErrors(link)) {
      const found = Array.isArray(inner)
        ? worst(inner.map((member) => look(member, deeper) ?? unknownError(member)))
        : look(inner, deeper);
      if (found) return found;
    }
    return undefined;
  };
  return look(error, []) ?? unknownError(error);
}

function unknownError(error: unknown): Diagnosis {
  return { class: "recoverable", code: nameOf(error) };
}

function diagnoseLink(error: unknown, custom: ErrorClassifier | undefined): Diagnosis | undefined {
  const chosen = custom?.(error);
  if (chosen) return { class: chosen, code: codeOf(error) };
  if (LonghaulError.isInstance(error)) {
    return { class: error.retryable ? "retryable" : "fatal", code: error.code };
  }
  if (typeof error !== "object" || error === null) return undefined;
  const status = httpStatus(error);
  if (isContextOverflow(error, status)) return { class: "recoverable", code: "CONTEXT_OVERFLOW" };
  for (const code of codesOf(error)) {
    const byCode = classOfCode(code);
    if (byCode) return { class: byCode, code };
  }
  if (status !== undefined) return { class: classOfStatus(status), code: `HTTP_${status}` };
  const marked = (error as { [RETRYABLE]?: unknown })[RETRYABLE];
  if (typeof marked === "boolean") return { class: marked ? "retryable" : "fatal", code: codeOf(error) };
  return undefined;
}

/** LangChain's own mark, set by its model packages; registered globally, so that it can be read without importing them. */
const RETRYABLE: unique symbol = Symbol.for("langchain.errors.retryable");

const OVERFLOW =
  /context[ _-]?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|input token count|input is too long/i;

function isContextOverflow(error: object, status: number | undefined): boolean {
  const { name, message } = error as { name?: unknown; message?: unknown };
  if (name === "ContextOverflowError") return true;
  if (status === 413) return true;
  // Streams fail without a status.
  const isRefusal = status === undefined || status === 400 || status === 422;
  return isRefusal && typeof message === "string" && OVERFLOW.test(message);
}

/** The codes of one error, the most specific first: of the provider's body, the system's, the library's, its name. */
function codesOf(error: object): string[] {
  const candidates: unknown[] = [];
  let body: unknown = error;
  // OpenAI: error.error.code; Anthropic: error.error.error.type; Google: error.error.status
  for (let depth = 0; depth < 4 && typeof body === "object" && body !== null; depth++) {
    const { code, type, status, lc_error_code } = body as Record<string, unknown>;
    candidates.unshift(code, type, status, lc_error_code);
    body = (body as { error?: unknown }).error;
  }
  candidates.push((error as { name?: unknown }).name);
  return candidates.filter((code): code is string => typeof code === "string" && code !== "");
}

function innerErrors(error: unknown): unknown[] {
  if (typeof error !== "object" || error === null) return [];
  const { errors, cause, error: wrapped } = error as { errors?: unknown; cause?: unknown; error?: unknown };
  return [Array.isArray(errors) ? errors : undefined, cause, wrapped instanceof Error ? wrapped : undefined];
}

function worst(found: readonly Diagnosis[]): Diagnosis | undefined {
  return found.reduce<Diagnosis | undefined>(
    (a, b) => (!a || (b && ORDER.indexOf(b.class) > ORDER.indexOf(a.class)) ? b : a),
    undefined,
  );
}

function withRetryAfter(diagnosis: Diagnosis, error: unknown, now: number | undefined): Diagnosis {
  if (diagnosis.class === "fatal") return diagnosis;
  const retryAfterMs = retryAfter(error, now ?? Date.now());
  return retryAfterMs === undefined ? diagnosis : { ...diagnosis, retryAfterMs };
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code !== "" ? code : nameOf(error);
}

function nameOf(error: unknown): string {
  const name = (error as { name?: unknown } | null | undefined)?.name;
  return typeof name === "string" && name !== "" ? name : "UNKNOWN";
}

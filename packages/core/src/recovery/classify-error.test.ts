import { GraphRecursionError, InvalidUpdateError, NodeTimeoutError } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidOptionsError, StateFormatError } from "../errors.ts";
import { processOwner } from "../storage/owner.ts";
import { classifyError, diagnoseError } from "./classify-error.ts";
import { FatalTaskError } from "./fatal-task-error.ts";
import { LeaseHeldError } from "./recovery-errors.ts";

const error = (fields: object, message = "failed", name = "Error") =>
  Object.assign(new Error(message), { name }, fields);
const wrapped = (inner: unknown) => new Error("outer", { cause: new Error("middle", { cause: inner }) });

describe("classifyError", () => {
  it.each([
    // Providers, in the shapes of their clients
    ["OpenAI rate limit", error({ status: 429, code: "rate_limit_exceeded", type: "tokens" }), "retryable"],
    ["OpenAI without credit", error({ status: 429, code: "insufficient_quota" }), "fatal"],
    ["OpenAI key", error({ status: 401, error: { code: "invalid_api_key" } }), "fatal"],
    [
      "OpenAI context",
      error({ status: 400, code: "context_length_exceeded", type: "invalid_request_error" }),
      "recoverable",
    ],
    ["OpenAI bad request", error({ status: 400, type: "invalid_request_error" }), "fatal"],
    ["OpenAI connection", error({}, "Connection error.", "APIConnectionError"), "retryable"],
    [
      "Anthropic overloaded",
      error({ status: 529, error: { type: "error", error: { type: "overloaded_error" } } }),
      "retryable",
    ],
    [
      "Anthropic overloaded in a stream",
      error({ error: { type: "error", error: { type: "overloaded_error" } } }),
      "retryable",
    ],
    [
      "Anthropic too long",
      error(
        { status: 400, error: { error: { type: "invalid_request_error" } } },
        "prompt is too long: 250000 tokens > 200000 maximum",
      ),
      "recoverable",
    ],
    [
      "Anthropic too long in a stream",
      error({ error: { error: { type: "invalid_request_error" } } }, "prompt is too long"),
      "recoverable",
    ],
    ["Anthropic rights", error({ status: 403, error: { error: { type: "permission_error" } } }), "fatal"],
    ["Google quota", error({ code: 429, status: "RESOURCE_EXHAUSTED" }), "retryable"],
    ["Google unavailable", error({ error: { code: 503, status: "UNAVAILABLE" } }), "retryable"],
    [
      "Google key",
      error({ status: 400, error: { status: "INVALID_ARGUMENT" } }, "API key not valid"),
      "fatal",
    ],
    [
      "AWS throttling",
      error({ $metadata: { httpStatusCode: 400 } }, "slow", "ThrottlingException"),
      "retryable",
    ],
    ["LangChain's mark", error({ [Symbol.for("langchain.errors.retryable")]: false }, "refused"), "fatal"],
    ["context overflow by LangChain", error({}, "too long", "ContextOverflowError"), "recoverable"],
    // HTTP
    ...[408, 409, 425, 429, 500, 502, 503, 504, 529, 599].map(
      (status) => [`HTTP ${status}`, error({ status }), "retryable"] as const,
    ),
    ...[400, 401, 402, 403, 404, 410, 422, 451, 501, 505].map(
      (status) => [`HTTP ${status}`, error({ response: { status } }), "fatal"] as const,
    ),
    ["too large", error({ status: 413 }), "recoverable"],
    // Network
    ...[
      "ECONNRESET",
      "ECONNREFUSED",
      "ETIMEDOUT",
      "EPIPE",
      "EAI_AGAIN",
      "UND_ERR_SOCKET",
      "UND_ERR_HEADERS_TIMEOUT",
    ].map((code) => [code, new TypeError("fetch failed", { cause: error({ code }) }), "retryable"] as const),
    ["certificate", new TypeError("fetch failed", { cause: error({ code: "CERT_HAS_EXPIRED" }) }), "fatal"],
    // Databases
    ["deadlock", error({ code: "40P01" }), "retryable"],
    ["too many connections", error({ code: "53300" }), "retryable"],
    ["admin shutdown", error({ code: "57P01" }), "retryable"],
    ["database disk full", error({ code: "53100" }), "fatal"],
    ["password", error({ code: "28P01" }), "fatal"],
    ["syntax", error({ code: "42601" }), "fatal"],
    ["SQLite busy", error({ code: "SQLITE_BUSY_SNAPSHOT" }), "retryable"],
    ["SQLite corrupt", error({ code: "SQLITE_CORRUPT" }), "fatal"],
    ["disk full", error({ code: "ENOSPC" }), "fatal"],
    // LangGraph and Longhaul
    ["recursion", new GraphRecursionError("limit"), "recoverable"],
    ["graph misuse", new InvalidUpdateError("two writers"), "fatal"],
    [
      "node time-out",
      new NodeTimeoutError({ node: "n", elapsed: 2, kind: "run", runTimeout: 1 }),
      "retryable",
    ],
    ["lease held", new LeaseHeldError({ threadId: "t", owner: processOwner(), expiresAt: 0 }), "retryable"],
    ["unreadable state", new StateFormatError({ channel: "c", found: 1, expected: "x" }), "fatal"],
    ["hopeless task", new FatalTaskError("no"), "fatal"],
    ["aborted by whom", new DOMException("aborted", "AbortError"), "recoverable"],
    // Unknown: a few tries
    ["bug", new TypeError("x is not a function"), "recoverable"],
    ["text", "something", "recoverable"],
    ["nothing", undefined, "recoverable"],
    ["null", null, "recoverable"],
  ] as const)("%s", (_, thrown, expected) => {
    expect(classifyError(thrown)).toBe(expected);
    expect(classifyError(wrapped(thrown))).toBe(expected);
    expect(classifyError(new AggregateError([thrown]))).toBe(expected);
  });

  it("does not take a five-letter system code for a SQLSTATE, nor digits for a status", () => {
    expect(diagnoseError(error({ code: "EPIPE" }))).toMatchObject({ class: "retryable", code: "EPIPE" });
    expect(classifyError(error({ status: 200 }))).toBe("recoverable");
  });

  it("believes the worst of several failed siblings", () => {
    const errors = [error({ status: 503 }), new Error("?"), error({ status: 401 })];
    expect(classifyError(new AggregateError(errors))).toBe("fatal");
    expect(classifyError(new AggregateError(errors.slice(0, 2)))).toBe("recoverable");
  });

  it("asks the user's rules first, from the outside in", () => {
    const own = (thrown: unknown) => ((thrown as { mine?: true }).mine ? "fatal" : undefined);
    expect(classifyError(wrapped(error({ mine: true, status: 503 })), own)).toBe("fatal");
    expect(classifyError(error({ status: 503 }), own)).toBe("retryable");
  });

  it("ends on chains that never end", () => {
    const loop = new Error("a") as Error & { cause?: unknown };
    loop.cause = new Error("b", { cause: loop });
    expect(classifyError(loop)).toBe("recoverable");
  });

  it("has an answer for anything that can be thrown", () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(["retryable", "recoverable", "fatal"]).toContain(classifyError(thrown));
      }),
      { seed: 9, numRuns: 500 },
    );
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  it.each([
    [{ headers: { "retry-after": "3" } }, 3_000],
    [{ headers: { "Retry-After": "0.5" } }, 500],
    [{ headers: new Headers({ "retry-after-ms": "250", "retry-after": "1" }) }, 250],
    [{ response: { headers: { "retry-after": "Thu, 01 Jan 2026 00:00:09 GMT" } } }, 9_000],
    [{ headers: { "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" } }, 0],
    [{ errorDetails: [{ reason: "x" }, { retryDelay: "12.5s" }] }, 12_500],
    [{ retryAfterMs: 42 }, 42],
    [{ headers: { "retry-after": "soon" } }, undefined],
    [{ headers: { "retry-after": "-3" } }, undefined],
    [{ headers: { "retry-after": "" } }, undefined],
    [{ headers: null }, undefined],
  ])("%j → %s", (fields, expected) => {
    expect(diagnoseError(error({ status: 429, ...fields }), { now }).retryAfterMs).toBe(expected);
  });
});

it("keeps the option error out of the classes' reach", () => {
  expect(diagnoseError(new InvalidOptionsError({ option: "a", value: 1, expected: "b" }))).toEqual({
    class: "fatal",
    code: "INVALID_OPTIONS",
  });
});

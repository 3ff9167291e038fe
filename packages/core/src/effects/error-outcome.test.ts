import { ToolInputParsingException } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { errorLine, errorOutcome } from "./error-outcome.ts";

const withFields = (fields: object, message = "x") => Object.assign(new Error(message), fields);

describe("errorOutcome", () => {
  it("D7 (i): only the call's own argument error is surely before the effect", () => {
    const message = "Received tool input did not match expected schema";
    expect(errorOutcome(new ToolInputParsingException(message, '{"a":1}'), { a: 1 })).toBe("not-done");
    expect(errorOutcome(new ToolInputParsingException(message, '{"inner":1}'), { a: 1 })).toBe("refused");
  });

  it("D7 (ii): a connection that was never made", () => {
    expect(errorOutcome(withFields({ code: "ECONNREFUSED" }))).toBe("not-done");
    expect(errorOutcome(withFields({ code: "ETIMEDOUT", syscall: "connect" }))).toBe("not-done");
    const fetchFailed = new TypeError("fetch failed", { cause: withFields({ code: "ENOTFOUND" }) });
    expect(errorOutcome(fetchFailed)).toBe("not-done");
    expect(errorOutcome(withFields({ status: 429 }))).toBe("not-done");
    expect(errorOutcome(withFields({ response: { status: 422 } }))).toBe("not-done");
  });

  it("D6, D7 (iii): after dispatch nobody knows", () => {
    const timeout = withFields({ name: "TimeoutError" });
    const cases: unknown[] = [
      timeout,
      new DOMException("aborted", "AbortError"),
      withFields({ code: "ECONNRESET" }),
      withFields({ code: "ETIMEDOUT", syscall: "read" }),
      withFields({ status: 503 }),
      withFields({ statusCode: 504 }),
      withFields({ code: "504" }),
      withFields({ status: 408 }),
      new TypeError("fetch failed", { cause: withFields({ code: "UND_ERR_SOCKET" }) }),
      new Error("wrapped", { cause: new Error("wrapped", { cause: timeout }) }),
      new Error("socket hang up"),
      new Error("Request timed out."),
    ];
    for (const error of cases) expect(errorOutcome(error), String(error)).toBe("unknown");
  });

  it.each([
    // fetch wrappers, axios, hand-written tools
    "HTTP 503",
    "HTTP error! status: 504",
    "HTTP/1.1 500 Internal Server Error",
    "Request failed with status code 502",
    "Server responded with 500",
    "504",
    "503 Service Temporarily Unavailable",
    "read ECONNRESET",
    "write EPIPE",
    "Failed to fetch",
    "This operation was aborted",
    // gRPC, SQL, subprocesses, MCP
    "14 UNAVAILABLE: No connection",
    "4 DEADLINE_EXCEEDED",
    "13 INTERNAL: Received RST_STREAM with code 0",
    "Connection terminated unexpectedly",
    "terminating connection due to administrator command",
    "Server disconnected",
    "Socket closed unexpectedly",
    "curl: (52) Empty reply from server",
    "Command was killed with SIGKILL (Forced termination): curl",
    "MCP error -32001: Request timed out",
  ])("D6: text alone tells it: %s", (text) => {
    expect(errorOutcome(new Error(text))).toBe("unknown");
    expect(errorOutcome(text)).toBe("unknown");
  });

  it.each<object>([
    { $metadata: { httpStatusCode: 503 } },
    { name: "InternalError", $fault: "server" },
    { output: { statusCode: 504 } },
    { code: "ERR_HTTP2_STREAM_CANCEL" },
    { code: "ERR_HTTP2_GOAWAY_SESSION" },
    { code: "57P01" },
    { code: "08006" },
    { code: "PROTOCOL_CONNECTION_LOST" },
    { killed: true, code: null, signal: "SIGTERM" },
    { errors: [withFields({ code: "ECONNREFUSED" }), withFields({ code: "ECONNRESET" })] },
  ])("D6: fields of other clients: %j", (fields) => {
    expect(errorOutcome(withFields(fields))).toBe("unknown");
  });

  it("D7 (ii): surely not done, told by text or by all of several tries", () => {
    for (const text of ["connect ECONNREFUSED 127.0.0.1:80", "HTTP 429 Too Many Requests", "status: 400"])
      expect(errorOutcome(new Error(text)), text).toBe("not-done");
    const refused = withFields({ code: "ECONNREFUSED" });
    expect(errorOutcome(withFields({ errors: [refused, refused] }))).toBe("not-done");
  });

  it.each([
    "Order 503 is already paid",
    "insufficient funds: 500 EUR short",
    "500 items exceed your limit of 408",
    "status: 500.00 EUR due",
    "card declined (code 504-A)",
    "Account closed",
    "the connection type is not supported",
    "ENTRY missing",
  ])("D7 (iv): numbers and words of a refusal are no outage: %s", (text) => {
    expect(errorOutcome(new Error(text))).toBe("refused");
  });

  it("D7 (iv): anything else is the tool's answer", () => {
    for (const error of [new Error("limit exceeded"), "no", undefined, withFields({ status: 409 })])
      expect(errorOutcome(error)).toBe("refused");
  });

  it("survives causes that contain themselves", () => {
    const error = new Error("a");
    error.cause = error;
    expect(errorOutcome(error)).toBe("refused");
    expect(errorLine(new Error(`first\nsecond`))).toBe("Error: first");
  });
});

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

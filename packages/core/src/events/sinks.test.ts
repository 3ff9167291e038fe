import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LonghaulEvent } from "./event.ts";
import { jsonlSink } from "./jsonl-sink.ts";
import { otelSink } from "./otel-sink.ts";
import { redact, redactText } from "./redact.ts";
import { allSinks } from "./stream-sink.ts";

const origin = { time: 1_000, threadId: "t", namespace: "" };
const call: LonghaulEvent = {
  ...origin,
  type: "model.call",
  run: "t:1",
  kind: "turn",
  agent: "main",
  model: "m",
  inputTokens: 10,
  outputTokens: 5,
  cachedTokens: 4,
  reasoningTokens: 0,
  cost: 0.5,
  ms: 250,
  outcome: "error",
  estimatedTokens: 0,
};

describe("redact", () => {
  it.each([
    ["key sk-proj-abcdefghijklmnop1234 end", "key [redacted] end"],
    ["ghp_abcdefghijklmnopqrstuvwxyz012345", "[redacted]"],
    ["Authorization: Bearer abcdefghijklmnop", "Authorization: [redacted]"],
    ["postgres://user:hunter2@host/db", "postgres://user:[redacted]@host/db"],
    ["password=hunter22 next", "password=[redacted] next"],
    ['{"api_key": "abcd1234"}', '{"api_key": "[redacted]"}'],
    ["AKIAABCDEFGHIJKLMNOP", "[redacted]"],
    ["eyJhbGciOiJI.eyJzdWIiOiIx.sig", "[redacted]"],
    ["tokens used: 12", "tokens used: 12"],
    ["see https://example.org/a?b=c", "see https://example.org/a?b=c"],
  ])("strikes secrets in %s", (text, clean) => {
    expect(redactText(text)).toBe(clean);
  });

  it("strikes fields by name, and leaves figures alone", () => {
    expect(
      redact({ apiKey: "x", "x-api-key": "x", password: "x", access_token: "x", inputTokens: 5, token: "a" }),
    ).toEqual({
      apiKey: "[redacted]",
      "x-api-key": "[redacted]",
      password: "[redacted]",
      access_token: "[redacted]",
      inputTokens: 5,
      token: "a",
    });
  });

  it("never throws, never grows and gives JSON", () => {
    const loop: Record<string, unknown> = { a: 1n, f: () => 1, e: new Error("x"), d: new Date(Number.NaN) };
    loop.self = loop;
    expect(redact(loop)).toMatchObject({
      a: "1",
      self: "[circular]",
      e: { name: "Error", message: "x" },
      d: null,
    });
    expect(
      redact({
        get bad() {
          throw new Error("no");
        },
      }),
    ).toBe("[unreadable]");
    expect(String(redact("x".repeat(10_000))).length).toBeLessThan(2_100);
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, maxDepth: 9 }), (value) => {
        expect(() => JSON.stringify(redact(value))).not.toThrow();
      }),
      { seed: 2 },
    );
  });
});

describe("sinks", () => {
  it("jsonlSink writes lines that pino's tools read", () => {
    const lines: string[] = [];
    const sink = jsonlSink({ write: (line) => lines.push(line) });
    sink(call);
    sink({ ...origin, type: "run.moved", from: "RUNNING", to: "NEEDS_HUMAN", ms: 5, stopReason: "loop" });
    expect(lines.every((line) => line.endsWith("\n") && line.indexOf("\n") === line.length - 1)).toBe(true);
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      level: 40,
      time: 1_000,
      msg: "model.call",
      type: "model.call",
      threadId: "t",
      inputTokens: 10,
    });
    expect(JSON.parse(lines[1] as string)).toMatchObject({ level: 50, to: "NEEDS_HUMAN" });
  });

  it("otelSink reports metrics and spans by the gen_ai conventions, threads on spans only", () => {
    const measured: [string, number, object | undefined][] = [];
    const instrument = (name: string) => ({
      add: (value: number, attributes?: object) => void measured.push([name, value, attributes]),
      record: (value: number, attributes?: object) => void measured.push([name, value, attributes]),
    });
    const spans: { name: string; start?: number; end?: number; attributes?: object; code?: number }[] = [];
    const sink = otelSink({
      meter: { createCounter: instrument, createHistogram: instrument },
      tracer: {
        startSpan: (name, options = {}) => {
          const span: (typeof spans)[number] = {
            name,
            start: options.startTime as number,
            attributes: options.attributes as object,
          };
          spans.push(span);
          return {
            setStatus: ({ code }) => Object.assign(span, { code }),
            end: (end) => Object.assign(span, { end }),
          };
        },
      },
    });
    sink(call);
    sink({
      ...origin,
      type: "budget.step",
      run: "t:1",
      tokens: 15,
      cost: 0,
      activeMs: 1,
      nearest: "tokens",
      share: 0.3,
    });
    expect(measured).toContainEqual([
      "gen_ai.client.token.usage",
      10,
      expect.objectContaining({ "gen_ai.token.type": "input", "gen_ai.request.model": "m" }),
    ]);
    expect(measured).toContainEqual(["gen_ai.client.operation.duration", 0.25, expect.anything()]);
    expect(measured).toContainEqual(["longhaul.budget.share", 0.3, { "longhaul.limit": "tokens" }]);
    expect(JSON.stringify(measured)).not.toContain('"t"');
    expect(spans).toEqual([
      {
        name: "chat m",
        start: 750,
        end: 1_000,
        code: 2,
        attributes: expect.objectContaining({ "gen_ai.conversation.id": "t" }),
      },
    ]);
  });

  it("allSinks keeps one sink's failure from the others", () => {
    const seen: string[] = [];
    allSinks(
      () => {
        throw new Error("disk full");
      },
      (event) => seen.push(event.type),
    )(call);
    expect(seen).toEqual(["model.call"]);
  });
});

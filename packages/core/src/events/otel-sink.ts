import type { EventSink, LonghaulEvent } from "./event.ts";
import { eventLevel } from "./event-level.ts";
import { redact } from "./redact.ts";

type Attributes = Record<string, string | number | boolean>;

/** The part of OpenTelemetry's `Meter` that is used. */
export interface MeterLike {
  createCounter(
    name: string,
    options?: { readonly unit?: string; readonly description?: string },
  ): {
    add(value: number, attributes?: Attributes): void;
  };
  createHistogram(
    name: string,
    options?: { readonly unit?: string; readonly description?: string },
  ): {
    record(value: number, attributes?: Attributes): void;
  };
}

/** The part of OpenTelemetry's `Tracer` that is used. */
export interface TracerLike {
  startSpan(
    name: string,
    options?: { readonly startTime?: number; readonly attributes?: Attributes; readonly kind?: number },
  ): {
    setStatus(status: { readonly code: number; readonly message?: string }): unknown;
    end(endTime?: number): void;
  };
}

export interface OtelSinkOptions {
  readonly meter?: MeterLike | undefined;
  readonly tracer?: TracerLike | undefined;
}

/** `SpanKind.CLIENT` and `SpanStatusCode.ERROR` of the OpenTelemetry API. */
const CLIENT = 2;
const ERROR = 2;

/**
 * Reports to OpenTelemetry by its generative AI conventions. Metrics: `gen_ai.client.token.usage`,
 * `gen_ai.client.operation.duration` for model calls, `longhaul.tool.duration`, `longhaul.cost`, `longhaul.budget.share`,
 * `longhaul.run.status.duration`, and `longhaul.events` with the type of each event. Spans: one for each model call (`chat <model>`), tool
 * call (`execute_tool <tool>`) and every warning. Threads are attributes of spans only: as metric attributes they would be
 * series without end. No text of messages, arguments or results is reported.
 */
export function otelSink({ meter, tracer }: OtelSinkOptions): EventSink {
  const measure = meter && measures(meter);
  return (event) => {
    measure?.(event);
    if (tracer) trace(tracer, event);
  };
}

function measures(meter: MeterLike): EventSink {
  const events = meter.createCounter("longhaul.events", { description: "Events by type" });
  const cost = meter.createCounter("longhaul.cost", {
    description: "Cost in the currency of the price table",
  });
  const tokens = meter.createHistogram("gen_ai.client.token.usage", { unit: "{token}" });
  const duration = meter.createHistogram("gen_ai.client.operation.duration", { unit: "s" });
  const tool = meter.createHistogram("longhaul.tool.duration", { unit: "s" });
  const share = meter.createHistogram("longhaul.budget.share", {
    description: "Used share of the nearest limit",
  });
  const status = meter.createHistogram("longhaul.run.status.duration", { unit: "s" });
  return (event) => {
    events.add(1, { "longhaul.event": event.type });
    switch (event.type) {
      case "model.call": {
        const attributes = modelAttributes(event);
        tokens.record(event.inputTokens, { ...attributes, "gen_ai.token.type": "input" });
        tokens.record(event.outputTokens, { ...attributes, "gen_ai.token.type": "output" });
        duration.record(event.ms / 1_000, attributes);
        if (event.cost > 0) cost.add(event.cost, attributes);
        break;
      }
      case "tool.call":
        tool.record(event.ms / 1_000, { "gen_ai.tool.name": event.tool, "longhaul.outcome": event.outcome });
        break;
      case "budget.step":
        share.record(event.share, { "longhaul.limit": event.nearest });
        break;
      case "run.moved":
        status.record(event.ms / 1_000, { "longhaul.status": event.from });
        break;
      default:
    }
  };
}

function trace(tracer: TracerLike, event: LonghaulEvent): void {
  const where: Attributes = {
    "gen_ai.conversation.id": event.threadId,
    "longhaul.namespace": event.namespace,
    ...(event.step === undefined ? {} : { "longhaul.step": event.step }),
  };
  if (event.type === "model.call") {
    const name = event.model === undefined ? "chat" : `chat ${event.model}`;
    const usage = {
      "gen_ai.usage.input_tokens": event.inputTokens,
      "gen_ai.usage.output_tokens": event.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": event.cachedTokens,
    };
    span(tracer, name, event, { ...where, ...modelAttributes(event), ...usage }, event.ms);
  } else if (event.type === "tool.call") {
    const attributes = { ...where, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.tool };
    span(tracer, `execute_tool ${event.tool}`, event, attributes, event.ms);
  } else if (eventLevel(event) > 30) {
    span(tracer, event.type, event, { ...where, ...flat(event) }, 0);
  }
}

function span(
  tracer: TracerLike,
  name: string,
  event: LonghaulEvent,
  attributes: Attributes,
  ms: number,
): void {
  const kind = event.type === "model.call" ? { kind: CLIENT } : {};
  const started = tracer.startSpan(name, { startTime: event.time - ms, attributes, ...kind });
  if ("outcome" in event && event.outcome === "error") started.setStatus({ code: ERROR });
  started.end(event.time);
}

function modelAttributes(event: Extract<LonghaulEvent, { type: "model.call" }>): Attributes {
  return {
    "gen_ai.operation.name": "chat",
    ...(event.model === undefined ? {} : { "gen_ai.request.model": event.model }),
    ...(event.agent === "main" ? {} : { "gen_ai.agent.name": event.agent }),
    "longhaul.call.kind": event.kind,
    ...(event.outcome === "error" ? { "error.type": "model_call" } : {}),
  };
}

/** Scalar fields of an event, struck and cut. */
function flat(event: LonghaulEvent): Attributes {
  const {
    type: _type,
    time: _time,
    threadId: _thread,
    namespace: _namespace,
    step: _step,
    ...fields
  } = event;
  const entries = Object.entries(redact(fields, { maxText: 200 }) as object).filter(([, value]) =>
    ["string", "number", "boolean"].includes(typeof value),
  );
  return Object.fromEntries(entries.map(([key, value]) => [`longhaul.${key}`, value]));
}

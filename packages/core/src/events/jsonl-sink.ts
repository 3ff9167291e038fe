import type { EventSink } from "./event.ts";
import { eventLevel } from "./event-level.ts";
import { type RedactLimits, redact } from "./redact.ts";

/** Where lines go: a Node stream, or anything with `write`. */
export interface LineStream {
  write(line: string): unknown;
}

/**
 * Writes one JSON line an event, as pino does (`level`, `time`, `msg`, then the fields), so that its tools read it: `msg` and `type`
 * are the event's type. Secrets are struck, long values cut; see `RedactLimits`. Back-pressure is the stream's: lines are
 * handed over and never waited for.
 */
export function jsonlSink(stream: LineStream, limits?: RedactLimits): EventSink {
  return (event) => {
    const { time, type, ...fields } = event;
    const line = { level: eventLevel(event), time, msg: type, type, ...(redact(fields, limits) as object) };
    stream.write(`${JSON.stringify(line)}\n`);
  };
}

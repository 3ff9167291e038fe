import { getWriter } from "@langchain/langgraph";
import type { EventSink } from "./event.ts";
import { redact } from "./redact.ts";

/**
 * Sends events into LangGraph's custom stream (`streamMode: "custom"`), as `{ longhaul: event }`. Events that come from
 * outside a node, or when nobody streams, are dropped.
 */
export function streamSink(): EventSink {
  return (event) => {
    let write: ((chunk: unknown) => void) | undefined;
    try {
      write = getWriter();
    } catch {
      return;
    }
    write?.({ longhaul: redact(event) });
  };
}

/** Hands each event to several sinks; one that throws does not keep it from the others. */
export function allSinks(...sinks: readonly EventSink[]): EventSink {
  return (event) => {
    for (const sink of sinks) {
      try {
        sink(event);
      } catch {
        // see EventSink: a log that fails is not a reason to stop the agent
      }
    }
  };
}

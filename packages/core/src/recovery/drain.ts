import { RunControl } from "@langchain/langgraph";
import type { StopWish } from "./stop-request.ts";

/** Asks a run to pause, and if asked twice to stop at once. */
export interface DrainWatch {
  readonly requested: boolean;
  /** Aborted by the first request: ends waits between attempts. */
  readonly pause: AbortSignal;
  /** Aborted by a second SIGTERM, or a cancel from outside. */
  readonly cancel: AbortSignal;
  /** Asks for a pause, or for a stop at once. */
  request(wish: StopWish): void;
  /** A control for one attempt; LangGraph wants a fresh one for each. */
  control(): RunControl;
  close(): void;
}

/**
 * Watches an abort signal and SIGTERM. While any run is watched, SIGTERM no longer ends the process by itself: the run
 * pauses at its next superstep boundary, `superviseRun` returns, and the program ends as it sees fit.
 */
export function watchDrain(options: {
  readonly signal: AbortSignal | undefined;
  readonly sigterm: boolean;
}): DrainWatch {
  const pause = new AbortController();
  const cancel = new AbortController();
  let current: RunControl | undefined;
  let reason = "requested";
  const request = (why: string) => {
    if (pause.signal.aborted) return;
    reason = why;
    pause.abort(new DOMException("The run was asked to pause.", "AbortError"));
    current?.requestDrain(why);
  };
  const onSignal = () => request("signal");
  const onSigterm = () => {
    if (pause.signal.aborted) stop("The run was cancelled by SIGTERM.");
    else request("SIGTERM");
  };
  const stop = (why: string) => cancel.abort(new DOMException(why, "AbortError"));
  if (options.signal?.aborted) onSignal();
  options.signal?.addEventListener("abort", onSignal, { once: true });
  if (options.sigterm) addSigtermListener(onSigterm);
  return {
    get requested() {
      return pause.signal.aborted;
    },
    pause: pause.signal,
    request: (wish) => {
      request("asked from outside");
      if (wish === "cancel") stop("The run was cancelled from outside.");
    },
    cancel: cancel.signal,
    control: () => {
      current = new RunControl();
      if (pause.signal.aborted) current.requestDrain(reason);
      return current;
    },
    close: () => {
      options.signal?.removeEventListener("abort", onSignal);
      removeSigtermListener(onSigterm);
    },
  };
}

/** One process listener for all runs: Node warns at eleven. */
const listeners = new Set<() => void>();

function onProcessSigterm(): void {
  for (const listener of [...listeners]) listener();
}

function addSigtermListener(listener: () => void): void {
  if (listeners.size === 0) process.on("SIGTERM", onProcessSigterm);
  listeners.add(listener);
}

function removeSigtermListener(listener: () => void): void {
  if (listeners.delete(listener) && listeners.size === 0) process.off("SIGTERM", onProcessSigterm);
}

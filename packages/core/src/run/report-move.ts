import type { Emit } from "../events/event.ts";
import type { RunState } from "./run-state.ts";

/** Tells operators that the run moved; staying is no news. */
export function reportMove(emit: Emit, from: RunState, to: RunState): void {
  if (from.status === to.status) return;
  emit({
    type: "run.moved",
    from: from.status,
    to: to.status,
    ms: from.since === 0 ? 0 : Math.max(0, to.since - from.since),
    ...(to.stopReason === undefined ? {} : { stopReason: to.stopReason }),
    ...(to.partial ? { partial: true } : {}),
  });
}

import type { DemoOptions, DemoPart } from "@longhaul/examples/supplier-research/run/demo-options.ts";
import type { DemoOutcome } from "@longhaul/examples/supplier-research/run/demo-outcome.ts";
import { runDemo } from "@longhaul/examples/supplier-research/run/demo-run.ts";
import { NO_OUTPUT } from "@longhaul/examples/supplier-research/run/progress-line.ts";

/** A run takes half a minute; one that hangs must not hold up the rest for ever. */
const LONGEST_MS = 900_000;

/** One demo run, silent, and without a full-history run beside it unless asked for. */
export function runOnce(
  run: { seed: number; kills: number; graph?: boolean; baseline?: boolean; without?: readonly DemoPart[] },
  stop: AbortSignal,
): Promise<DemoOutcome> {
  const options: DemoOptions = {
    graph: false,
    baseline: false,
    keep: false,
    without: [],
    baselineWindow: 1_000_000,
    ...run,
  };
  // No environment: the bench is about the scripted server, whatever the caller's BASE_URL says.
  const signal = AbortSignal.any([stop, AbortSignal.timeout(LONGEST_MS)]);
  return runDemo(options, { stop: signal, out: NO_OUTPUT });
}

import type { DemoOptions, DemoPart } from "@longhaul/examples/supplier-research/run/demo-options.ts";
import type { DemoOutcome } from "@longhaul/examples/supplier-research/run/demo-outcome.ts";
import { type DemoSetting, runDemo } from "@longhaul/examples/supplier-research/run/demo-run.ts";
import { NO_OUTPUT } from "@longhaul/examples/supplier-research/run/progress-line.ts";

/** One demo run without a full-history run beside it, silent. */
export function runOnce(
  run: { seed: number; kills: number; graph?: boolean; without?: readonly DemoPart[] },
  setting: Pick<DemoSetting, "stop"> = {},
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
  return runDemo(options, { ...setting, out: NO_OUTPUT });
}

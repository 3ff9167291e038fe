import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { addCosts, type CountedCall, callCosts, NO_COSTS, servedCosts } from "../../shared/token-costs.ts";
import { AgentProcessError, runAgentProcess, StoppedError } from "./agent-child.ts";
import type { AgentConfig } from "./agent-messages.ts";
import { databaseBytes } from "./database-size.ts";
import type { SideOutcome } from "./demo-outcome.ts";
import { type Endpoint, withEndpoint } from "./endpoint.ts";

/** What the same job costs without Longhaul: every request holds the whole history, the official saver keeps it. */
export async function runFullHistory(given: {
  readonly seed: number;
  /** Context window that the scripted server enforces, tokens. */
  readonly window: number;
  /** Where its databases go for the time of the run. */
  readonly folder: string;
  readonly own?: Endpoint | undefined;
  readonly stop?: AbortSignal | undefined;
}): Promise<SideOutcome> {
  const { seed, window, own, stop } = given;
  const started = performance.now();
  const folder = mkdtempSync(join(given.folder, "full-history-"));
  let counted = NO_COSTS;
  try {
    return await withEndpoint(own, window, async ({ endpoint, served }) => {
      const config: AgentConfig = { form: "baseline", endpoint, folder, seed, window, cap: 0, without: [] };
      const onCall = (call: CountedCall) => {
        counted = addCosts(counted, callCosts(call));
      };
      const result = await runAgentProcess(config, { onCall, stop });
      if (result.kind === "killed") throw new StoppedError();
      if (result.kind === "failed") throw new AgentProcessError(result);
      const requests = await served();
      return {
        end: result.end,
        costs: requests ? servedCosts(requests) : counted,
        databaseBytes: databaseBytes(join(folder, "baseline.db")),
        seconds: (performance.now() - started) / 1_000,
      };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

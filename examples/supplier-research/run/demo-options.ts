import { parseArgs } from "node:util";
import { UsageError, wholeNumber } from "../../shared/usage-error.ts";

/** What one demo run is asked to do. */
export interface DemoOptions {
  readonly seed: number;
  /** SIGKILLs of the agent process. */
  readonly kills: number;
  /** The StateGraph form in place of createAgent. */
  readonly graph: boolean;
  readonly baseline: boolean;
  readonly keep: boolean;
  /** Folder of an interrupted run to go on with. */
  readonly resume?: string | undefined;
  /** Parts left out, for controls: each must make the demo fail. */
  readonly without: readonly DemoPart[];
  /** Context window of the full-history run, tokens. */
  readonly baselineWindow: number;
}

export type DemoPart = "ledger" | "supervisor" | "memory";

export const USAGE: string = `npm run demo -- [options]
  --seed N              which world, which kills (default 1)
  --kills N             how often the agent process is killed, 3 to 20 (default 4; 0 for none)
  --graph               the StateGraph form instead of createAgent
  --no-baseline         leave out the full-history run that the report compares with
  --keep                leave the databases and say how to look at them
  --resume DIR          go on with the run that Ctrl-C paused in DIR, with its seed, form and kills
  --help                this text
Ctrl-C pauses at the agent's next step and says how to go on; a second one stops at once.

Controls, each of which must make the run fail or cost more:
  --without ledger      no effect guard: side effects are done twice after a kill
  --without supervisor  nobody starts a killed agent again: no end
  --without memory      neither memory layer nor recall in the requests: a wrong answer
  --baseline-window N   context window of the full-history run, tokens (default 1000000);
                        with 32000, Longhaul's own, it ends with the provider's context error

With BASE_URL and MODEL (and API_KEY) set, the agents talk to that OpenAI-compatible endpoint instead of the scripted server.

Exit codes: 0 right, 1 wrong or failed, 2 bad options, 130 paused.`;

const PARTS: readonly DemoPart[] = ["ledger", "supervisor", "memory"];

export function parseDemoOptions(args: readonly string[]): DemoOptions {
  const { values } = parse(args);
  const without = values.without ?? [];
  for (const part of without)
    if (!PARTS.includes(part as DemoPart)) throw new UsageError(`--without takes ${PARTS.join(", ")}.`);
  if (without.includes("memory") && values.graph)
    throw new UsageError("--without memory works on the createAgent form only.");
  if (values.resume !== undefined) {
    const fixed = ["seed", "kills", "graph"].filter((name) => name in values);
    if (fixed.length > 0) throw new UsageError(`--resume keeps the run's own ${fixed.join(", ")}.`);
  }
  const kills = wholeNumber("--kills", values.kills, 4, 0, 20);
  if (kills > 0 && kills < 3) throw new UsageError("--kills takes 0, or 3 to 20.");
  return {
    seed: wholeNumber("--seed", values.seed, 1, 0, 2 ** 31),
    kills,
    graph: values.graph ?? false,
    baseline: values.baseline ?? true,
    keep: values.keep ?? false,
    resume: values.resume,
    without: without as DemoPart[],
    baselineWindow: wholeNumber("--baseline-window", values["baseline-window"], 1_000_000, 1_000, 10_000_000),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        seed: { type: "string" },
        kills: { type: "string" },
        graph: { type: "boolean" },
        baseline: { type: "boolean" },
        keep: { type: "boolean" },
        resume: { type: "string" },
        without: { type: "string", multiple: true },
        "baseline-window": { type: "string" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

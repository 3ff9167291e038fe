import { parseArgs } from "node:util";
import { UsageError } from "@longhaul/examples/shared/usage-error.ts";

export interface BenchOptions {
  readonly seeds: readonly number[];
  /** Which form the agent has, by seed: `some` takes the StateGraph form for every fourth seed. */
  readonly forms: "createAgent" | "graph" | "some";
  readonly controls: boolean;
  /** Also runs the full history of each seed, and holds the costs against the bars. */
  readonly compare: boolean;
  /** Writes bench/results/demo-runs.txt, or demo-costs.txt with `compare`. */
  readonly record: boolean;
}

export const USAGE: string = `npm run bench -- [options]
  --seeds LIST   seeds to run, such as 1-20 or 2,5,7-9 (default 1-20); the seed says how many kills: 3 to 6
  --graph        the StateGraph form for all; without it every fourth seed has it
  --no-graph     the createAgent form for all
  --controls     also the runs that must fail: without ledger, supervisor or memory, and full history in a small window
  --compare      also the full history of each seed; costs must meet the bars: prompt tokens 1/4, cache-priced 1, database 1/100
  --record       write bench/results/demo-runs.txt, or demo-costs.txt with --compare`;

/** @throws UsageError */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        seeds: { type: "string", default: "1-20" },
        graph: { type: "boolean" },
        controls: { type: "boolean", default: false },
        compare: { type: "boolean", default: false },
        record: { type: "boolean", default: false },
      },
    });
    return {
      seeds: parseSeeds(values.seeds),
      forms: values.graph === undefined ? "some" : values.graph ? "graph" : "createAgent",
      controls: values.controls,
      compare: values.compare,
      record: values.record,
    };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** `2,5,7-9` → 2, 5, 7, 8, 9. */
function parseSeeds(text: string): readonly number[] {
  const seeds = text.split(",").flatMap((part) => {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim());
    const from = Number(match?.[1]);
    const to = Number(match?.[2] ?? from);
    if (!match || to < from || to - from > 1_000)
      throw new UsageError(`--seeds takes 1-20 or 2,5,7-9, not ${text}.`);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  return [...new Set(seeds)];
}

/** 3 to 6. */
export function killsOf(seed: number): number {
  return 3 + (seed % 4);
}

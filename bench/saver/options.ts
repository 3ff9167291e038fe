import { parseArgs } from "node:util";
import { UsageError } from "@longhaul/examples/shared/usage-error.ts";

export interface SaverBenchOptions {
  readonly steps: number;
  readonly only: readonly string[];
  readonly compare: boolean;
  readonly record: boolean;
}

export const SAVER_USAGE: string = `npx tsx bench/saver.ts [options]
  --steps N      steps of the agent's run (default 300); other works scale with it. Bars hold at 300
  --only NAMES   some of sqlite,postgres,static,list,growth (default all)
  --no-compare   do not read and compare every checkpoint of the official savers
  --record       write bench/results/saver.txt
Postgres: TEST_POSTGRES_URL, default postgres://postgres@127.0.0.1:5432/postgres; a schema of its own is made and dropped.`;

/** @throws UsageError */
export function parseSaverBenchOptions(args: readonly string[], names: readonly string[]): SaverBenchOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        steps: { type: "string", default: "300" },
        only: { type: "string" },
        compare: { type: "boolean", default: true },
        record: { type: "boolean", default: false },
      },
    });
    const steps = Number(values.steps);
    if (!Number.isSafeInteger(steps) || steps < 6 || steps > 10_000)
      throw new UsageError(`--steps takes a whole number from 6 to 10000, not ${values.steps}.`);
    const only = values.only?.split(",") ?? names;
    const unknown = only.find((name) => !names.includes(name));
    if (unknown !== undefined) throw new UsageError(`--only takes ${names.join(", ")}, not ${unknown}.`);
    return { steps, only, compare: values.compare, record: values.record };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

import { parseArgs } from "node:util";
import { UsageError, wholeNumber } from "../shared/usage-error.ts";
import { HARD_LIMIT } from "./replay-chain.ts";

/** What one replay is asked to do. */
export interface ReplayOptions {
  readonly file: string;
  /** Recorded runs in one thread, one after another. */
  readonly chain: number;
  /** Tokens of the working layer at which it folds. Absent: Longhaul's default. */
  readonly softLimit?: number | undefined;
}

export const USAGE: string = `npm run replay -- FILE [options]
  FILE             recorded runs, one JSON object a line: { id, messages }, messages in OpenAI chat form
  --chain N        how many runs, one after another, make one thread (default 1)
  --soft-limit N   size of the working layer at which it folds, in tokens (default: Longhaul's own)`;

/** @throws UsageError */
export function parseReplayOptions(args: readonly string[]): ReplayOptions {
  const { values, positionals } = parse(args);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    throw new UsageError(`One FILE is replayed, ${positionals.length} are given.`);
  const soft = values["soft-limit"];
  return {
    file,
    chain: wholeNumber("--chain", values.chain, 1, 1, 100_000),
    softLimit: soft === undefined ? undefined : wholeNumber("--soft-limit", soft, 0, 32, HARD_LIMIT),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { chain: { type: "string" }, "soft-limit": { type: "string" } },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

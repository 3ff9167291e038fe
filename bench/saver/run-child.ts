import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { StoreSpec } from "./stores.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const LONGEST_MS = 900_000;

/** Does one work of child.ts in a process of its own. */
export async function runChild<T>(work: string, spec: StoreSpec, steps: number): Promise<T> {
  const args = ["--import", "tsx", "--expose-gc", CHILD, work, JSON.stringify(spec), String(steps)];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    timeout: LONGEST_MS,
    maxBuffer: 10_000_000,
  });
  return JSON.parse(stdout) as T;
}

/** Runs each a few times in turns, so that a busy moment hits both, and gives the median of each. */
export async function medianMs<T extends { readonly ms: number }>(
  times: number,
  ...runs: readonly (() => Promise<T>)[]
): Promise<{ readonly ms: number; readonly last: T }[]> {
  const all: T[][] = runs.map(() => []);
  for (let i = 0; i < times; i++) for (const [n, run] of runs.entries()) all[n]?.push(await run());
  return all.map((results) => {
    const sorted = results.map(({ ms }) => ms).toSorted((a, b) => a - b);
    return { ms: sorted[sorted.length >> 1] as number, last: results.at(-1) as T };
  });
}

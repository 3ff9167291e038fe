import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LonghaulError } from "@longhaul/core";
import { NO_COSTS, type TokenCosts } from "../../shared/token-costs.ts";
import type { SideOutcome } from "./demo-outcome.ts";

/** What is kept beside the databases, so that another process can go on with a demo run and report on all of it. */
export interface RunFile {
  readonly v: 1;
  readonly seed: number;
  readonly graph: boolean;
  /** Kills asked for. */
  readonly kills: number;
  /** Kills survived so far, as text. */
  readonly survived: readonly string[];
  /** Model turns so far. */
  readonly turns: number;
  readonly costs: TokenCosts;
  readonly seconds: number;
  readonly baseline?: SideOutcome | undefined;
}

/** `--resume` names a folder without a run in it. */
export class NoSuchRunError extends LonghaulError {
  readonly code = "NO_SUCH_RUN";
  constructor(folder: string, cause: unknown) {
    super(`${folder} holds no demo run. Give --resume the folder that Ctrl-C printed.`, { cause });
  }
}

export function newRunFile(options: Pick<RunFile, "seed" | "graph" | "kills">): RunFile {
  const { seed, graph, kills } = options;
  return { v: 1, seed, graph, kills, survived: [], turns: 0, costs: NO_COSTS, seconds: 0 };
}

/** @throws NoSuchRunError */
export function readRunFile(folder: string): RunFile {
  let file: RunFile;
  try {
    file = JSON.parse(readFileSync(pathIn(folder), "utf8")) as RunFile;
  } catch (cause) {
    throw new NoSuchRunError(folder, cause);
  }
  if (file?.v !== 1) throw new NoSuchRunError(folder, undefined);
  return file;
}

export function writeRunFile(folder: string, file: RunFile): void {
  writeFileSync(pathIn(folder), JSON.stringify(file));
}

function pathIn(folder: string): string {
  return join(folder, "demo.json");
}

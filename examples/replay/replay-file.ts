import { readFileSync } from "node:fs";
import { type MalformedLine, parseRecordings, type RecordedRun } from "./recording.ts";
import { type ChainOutcome, replayChain } from "./replay-chain.ts";
import type { ReplayOptions } from "./replay-options.ts";

/** A file that nothing can be replayed from. */
export class RecordingFileError extends Error {
  readonly code = "RECORDING_FILE";
  readonly file: string;

  constructor(file: string, reason: string, cause?: unknown) {
    super(`${file}: ${reason}`, { cause });
    this.name = "RecordingFileError";
    this.file = file;
  }
}

export interface ReplayListener {
  readonly malformed: (line: MalformedLine) => void;
  readonly chainDone: (outcome: ChainOutcome, index: number, count: number) => void;
}

/**
 * Replays all runs of a file in chains, one chain after another. A line that cannot be used is reported and left out; a chain that
 * fails is reported in its outcome, and the next goes on.
 *
 * @throws RecordingFileError when the file cannot be read or has no usable line
 */
export async function replayFile(
  { file, chain, softLimit }: ReplayOptions,
  listener: ReplayListener,
): Promise<readonly ChainOutcome[]> {
  const { runs, malformed } = parseRecordings(readText(file));
  for (const line of malformed) listener.malformed(line);
  if (runs.length === 0) throw new RecordingFileError(file, "not one line is a recorded run");
  const chains: RecordedRun[][] = [];
  for (let i = 0; i < runs.length; i += chain) chains.push(runs.slice(i, i + chain));
  const outcomes: ChainOutcome[] = [];
  for (const [index, members] of chains.entries()) {
    const outcome = await replayChain(members, { softLimit });
    outcomes.push(outcome);
    listener.chainDone(outcome, index, chains.length);
  }
  return outcomes;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new RecordingFileError(
      file,
      `cannot be read (${(error as { code?: string }).code ?? error})`,
      error,
    );
  }
}

import type { ReplyParts } from "@longhaul/test-kit";
import type { RecordedRun, RecordedTurn } from "./recording.ts";

/** What the model says where a recording goes on with the user although results have just come. */
export const END_OF_RECORDING = "(end of recording)";

/** A chain of recorded runs as a script for a model and its tools. */
export interface ReplayScript {
  /** System prompt of the first run. */
  readonly system: string;
  /** One invocation each: what the user says, and how many model calls follow. */
  readonly exchanges: readonly { readonly human: string; readonly calls: number }[];
  /** Answers of the model, in order. */
  readonly replies: readonly ReplyParts[];
  /** Recorded results by the call id in `replies`. */
  readonly results: ReadonlyMap<string, string>;
  readonly toolNames: readonly string[];
}

/** Runs one after another in one thread. */
export function replayScript(runs: readonly RecordedRun[]): ReplayScript {
  const replies: ReplyParts[] = [];
  const results = new Map<string, string>();
  const toolNames = new Set<string>();
  const exchanges = runs
    .flatMap((run) => run.exchanges)
    .map(({ human, turns }) => {
      const whole = endingInText(turns);
      for (const { content, calls } of whole) {
        const toolCalls = calls.map(({ name, args, result }, i) => {
          const id = `call_${replies.length}_${i}`;
          results.set(id, result);
          toolNames.add(name);
          return { name, args, id };
        });
        replies.push({ content, toolCalls });
      }
      return { human, calls: whole.length };
    });
  return { system: runs[0]?.system ?? "", exchanges, replies, results, toolNames: [...toolNames].sort() };
}

/**
 * The turns of one invocation. An agent ends at its first answer without calls: a recorded one that goes on is joined with the
 * next, and one that never comes is added.
 */
function endingInText(turns: readonly RecordedTurn[]): RecordedTurn[] {
  const joined: RecordedTurn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last && last.calls.length === 0) {
      const content = [last.content, turn.content].filter((text) => text !== "").join("\n");
      joined[joined.length - 1] = { ...turn, content };
    } else joined.push(turn);
  }
  if (joined.at(-1)?.calls.length !== 0) joined.push({ content: END_OF_RECORDING, calls: [] });
  return joined;
}

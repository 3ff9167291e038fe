import { z } from "zod/v4";
import { digestText } from "../json/canonical-json.ts";
import { isKnownSource, type KnownSources } from "./known-sources.ts";
import type { ProgressCheckpoint, ProgressFact } from "./progress-state.ts";
import { type CutItem, trimCheckpoint } from "./trim-checkpoint.ts";

/** Arguments of the checkpoint tool. The tool and the rules use the same, so that both refuse the same calls. */
export const checkpointSchema = z.object({
  goal: z.string().describe("The task's goal in one sentence, as the user gave it."),
  facts: z
    .array(
      z.object({
        text: z.string().describe("One verified fact, with exact values."),
        source: z
          .string()
          .optional()
          .describe(
            "Where it was seen: URL, file path, tool name or call id, artifact reference, or `user`.",
          ),
      }),
    )
    .describe("Verified facts. A fact without a source that was seen in this run is moved to `open`."),
  done: z.array(z.string()).describe("Finished steps."),
  todo: z.array(z.string()).describe("Steps still to do, next one first."),
  open: z.array(z.string()).optional().describe("Unsolved questions and guesses."),
});

/** What the checkpoint must be compared with: the newest one, and the digests of all that was ever done. */
export type PreviousProgress = ProgressCheckpoint & { readonly doneDigests?: readonly string[] | undefined };

export interface NormalisedProgress {
  /** What may be saved. When refused: the previous checkpoint, or an empty one. */
  readonly progress: ProgressCheckpoint;
  /** It holds a new fact, a new done item, or closes an open one. */
  readonly moved: boolean;
  /** What was dropped or shortened to fit. */
  readonly cut: readonly CutItem[];
  /** Facts that were moved to `open`, because their source is missing or was never seen. */
  readonly unsourced: readonly string[];
  /** Digests of all done items ever, these included, sorted; counted before the cut. */
  readonly doneDigests: readonly string[];
  /** Why nothing may be saved, and what to do. */
  readonly refused?: string;
}

/**
 * The rules of the checkpoint tool (source: the checkpoint-and-reset tutorial, "three common pitfalls"):
 * a fact needs a source that the run has seen, otherwise it goes to `open`; at most `maxCharacters`, with `todo` and `open`
 * kept before old `done`; `done` is counted cumulatively, before the cut. Pure. Never throws for what a model may send:
 * malformed input is refused with a reason.
 *
 * The goal is the model's own wording, a note to itself. It never replaces the original goal.
 */
export function normaliseProgress(
  input: unknown,
  previous: PreviousProgress | undefined,
  known: KnownSources,
  maxCharacters = 2_000,
): NormalisedProgress {
  const before = previous ?? { goal: "", facts: [], done: [], todo: [], open: [] };
  const doneBefore = previous?.doneDigests ?? before.done.map(itemDigest);
  const refuse = (refused: string): NormalisedProgress => ({
    progress: pick(before),
    moved: false,
    cut: [],
    unsourced: [],
    doneDigests: doneBefore,
    refused,
  });
  const parsed = checkpointSchema.safeParse(input);
  if (!parsed.success) return refuse(`the arguments do not fit: ${z.prettifyError(parsed.error)}`);

  const goal = clean(parsed.data.goal) || before.goal;
  const done = unique(parsed.data.done);
  const todo = unique(parsed.data.todo);
  const { facts, unsourced } = splitFacts(parsed.data.facts, known);
  const open = unique([...(parsed.data.open ?? []), ...unsourced]);
  if (facts.length + done.length + todo.length + open.length === 0) {
    return refuse("it is empty: name at least one fact, a finished step, a next step or an open question");
  }

  const doneDigests = [...new Set([...doneBefore, ...done.map(itemDigest)])].sort();
  const { checkpoint, cut } = trimCheckpoint({ goal, facts, done, todo, open }, maxCharacters);
  const knownFacts = new Set(before.facts.map((fact) => itemDigest(fact.text)));
  const moved =
    // of what is kept: a fact that never fits would be new every time
    checkpoint.facts.some((fact) => !knownFacts.has(itemDigest(fact.text))) ||
    doneDigests.length > new Set(doneBefore).size ||
    closesOpen(before.open, open) ||
    // a first plan is progress too
    (!previous && todo.length > 0);
  return { progress: checkpoint, moved, cut, unsourced, doneDigests };
}

/** Identity of an item: letters and digits only, so that a changed dot or capital is not a new step. */
export function itemDigest(text: string): string {
  const letters = text
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [text.trim()];
  return digestText(letters.join(" ")).slice(0, 12);
}

function splitFacts(
  facts: readonly { readonly text: string; readonly source?: string | undefined }[],
  known: KnownSources,
): { facts: ProgressFact[]; unsourced: string[] } {
  const sourced = new Map<string, ProgressFact>();
  const unsourced: string[] = [];
  for (const fact of facts) {
    const text = clean(fact.text);
    const source = clean(fact.source ?? "");
    if (text === "") continue;
    if (isKnownSource(source, known)) sourced.set(itemDigest(text), { text, source });
    else unsourced.push(text);
  }
  return { facts: [...sourced.values()], unsourced };
}

/** Rewording an open item closes none: their number must fall. */
function closesOpen(before: readonly string[], now: readonly string[]): boolean {
  const still = new Set(now.map(itemDigest));
  return now.length < before.length && before.some((item) => !still.has(itemDigest(item)));
}

function unique(items: readonly string[]): string[] {
  const byDigest = new Map<string, string>();
  for (const item of items.map(clean)) if (item !== "") byDigest.set(itemDigest(item), item);
  return [...byDigest.values()];
}

function clean(text: string): string {
  return text.toWellFormed().trim();
}

function pick({ goal, facts, done, todo, open }: ProgressCheckpoint): ProgressCheckpoint {
  return { goal, facts, done, todo, open };
}

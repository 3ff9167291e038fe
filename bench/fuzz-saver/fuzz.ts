import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactSaver } from "@longhaul/checkpointer";
import { Draw, fill } from "./base.ts";
import { complaintAbout, type Wanted } from "./complaint.ts";
import { type FileMutation, mutateJournal, mutatePages } from "./mutate-files.ts";
import { mutateRow, type RowMutation } from "./mutate-rows.ts";
import { type Answers, readAgain, type Snapshot, snapshotOf } from "./snapshot.ts";

export const LAYERS = ["rows", "journals", "pages"] as const;
export type Layer = (typeof LAYERS)[number];

export interface FuzzReport {
  readonly mutations: number;
  /** Mutations that made a read fail; only `verify` saw the others, if they matter. */
  readonly refused: number;
  /** Mutations that `verify` reported. */
  readonly verified: number;
  readonly wrong: readonly string[];
}

/**
 * Changes stored data below the saver, once for each mutation, reads everything, and puts the data back. Whatever was changed: each answer is what
 * was stored, or a typed error that says where. Something may be absent only where `verify` reports a problem, and every change of a row is one.
 */
export async function fuzz(layer: Layer, mutations: number, seed: number): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-fuzz-"));
  const path = join(folder, layer === "journals" ? "threads" : "agent.db");
  const target = layer === "journals" ? `file:${path}` : path;
  const report = { mutations, refused: 0, verified: 0, wrong: [] as string[] };
  try {
    await fill(target);
    const sound = CompactSaver.fromConnString(target);
    const snapshot = await snapshotOf(sound);
    await sound.end();
    for (let n = 0; n < mutations; n++) {
      const mutation = mutate(layer, path, new Draw(seed * 1_000_003 + n));
      try {
        const wanted =
          "wanted" in mutation ? mutation.wanted : { checkpoint: false, channel: false, target: path };
        const outcome = await outcomeOf(target, snapshot, wanted);
        if (outcome.answers.errors > 0) report.refused += 1;
        if (outcome.found) report.verified += 1;
        for (const complaint of complaintsAbout(outcome, mutation).slice(0, 3))
          report.wrong.push(`${layer}, seed ${seed}, mutation ${n} (${mutation.what}): ${complaint}`);
      } finally {
        mutation.undo();
      }
    }
    // all was put back, so all must be as before
    const { answers, found } = await outcomeOf(target, snapshot, { checkpoint: true, channel: true });
    if (answers.errors + answers.absent.length + answers.wrong.length > 0 || found)
      report.wrong.push(`${layer}: not as before after the last mutation was taken back`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return report;
}

function mutate(layer: Layer, path: string, draw: Draw): RowMutation | FileMutation {
  if (layer === "rows") return mutateRow(path, draw);
  return layer === "journals" ? mutateJournal(path, draw) : mutatePages(path, draw);
}

interface Outcome {
  readonly answers: Answers;
  /** Whether `verify` reported a problem, or could not even open the target. */
  readonly found: boolean;
  readonly complaint: string | undefined;
}

function complaintsAbout(
  { answers, found, complaint }: Outcome,
  mutation: RowMutation | FileMutation,
): string[] {
  const complaints = [...answers.wrong];
  if (complaint) complaints.push(`verify: ${complaint}`);
  const isRow = "isAddress" in mutation;
  if (!found && isRow) complaints.push("verify finds nothing");
  if (!found && answers.errors > 0) complaints.push("reads fail, and verify finds nothing");
  if (!found || (isRow && !mutation.isAddress))
    for (const gone of answers.absent)
      complaints.push(`${gone} is absent${found ? "" : ", and verify finds nothing"}`);
  return complaints;
}

async function outcomeOf(target: string, snapshot: Snapshot, wanted: Wanted): Promise<Outcome> {
  const saver = CompactSaver.fromConnString(target);
  try {
    const answers = await readAgain(saver, snapshot, wanted);
    try {
      return { answers, found: !(await saver.verify()).ok, complaint: undefined };
    } catch (error) {
      return { answers, found: true, complaint: complaintAbout(error, wanted) };
    }
  } finally {
    await saver.end();
  }
}

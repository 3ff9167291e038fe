import {
  type BaseCheckpointSaver,
  emptyCheckpoint,
  MemorySaver,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { prose as makeProse } from "../saver/words.ts";

/** Threads that the child writes to in turns. */
export const THREADS = ["one", "two", "../three"] as const;
/** `prune` keeps so many. */
export const KEEP_LAST = 5;
export const MIGRATED_STEPS = 6;

/** What stands in a thread's checkpoint follows from its name and step, so that the parent process knows it without being told. */
export function valuesAt(thread: string, step: number): Record<string, unknown> {
  const seed = thread.length * 1_000;
  return { ...plainValuesAt(thread, step), at: new Date(step * 1_000), seed: BigInt(seed) };
}

/** Without what other savers turn into something else. */
export function plainValuesAt(thread: string, step: number): Record<string, unknown> {
  const seed = thread.length * 1_000;
  return {
    list: Array.from({ length: Math.min(step, 30) + 1 }, (_, i) => ({ i, text: prose(seed + i, 400) })),
    note: `${thread} ${step}`,
  };
}

/** Of task `task` at the step. */
export function writeAt(thread: string, step: number, task: number): unknown {
  return { thread, step, task, text: prose(step * 10 + task, 600) };
}

export function artifactAt(thread: string, n: number): string {
  return `${thread} ${n} ${prose(n, 2_000)}`;
}

/** A thread in another saver, with pending writes at each checkpoint, always the same. */
export async function sourceOf(thread: string): Promise<BaseCheckpointSaver> {
  const source = new MemorySaver();
  let parent: { configurable: Record<string, unknown> } = {
    configurable: { thread_id: thread, checkpoint_ns: "" },
  };
  for (let step = 0; step < MIGRATED_STEPS; step++) {
    const versions = { list: step + 1, note: step + 1 };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: migratedId(step),
      channel_values: plainValuesAt(thread, step),
      channel_versions: versions,
    };
    const metadata = { source: "loop" as const, step, parents: {} };
    parent = (await source.put(parent, checkpoint, metadata)) as typeof parent;
    await source.putWrites(parent, [["list", writeAt(thread, step, 0)]], "task-0");
  }
  return source;
}

export function migratedId(step: number): string {
  // a clock of its own makes the ids the same each time
  return `1f000000-0000-6000-8000-${step.toString(16).padStart(12, "0")}`;
}

export function newId(step: number): string {
  return uuid6(step);
}

const made = new Map<string, string>();

/** The same texts are asked for again and again. */
function prose(seed: number, chars: number): string {
  const key = `${seed} ${chars}`;
  const text = made.get(key) ?? makeProse(seed, chars);
  made.set(key, text);
  return text;
}

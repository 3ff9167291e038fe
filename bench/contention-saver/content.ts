import { prose } from "../saver/words.ts";

/** Checkpoints of one run, and tasks that write to each. */
export const STEPS = 3;
export const TASKS = 3;
/** A record that all processes raise. */
export const COUNTER = { collection: "bench", thread: "", key: "counter" } as const;

export function threadOf(process: string, run: number): string {
  return `${process}-${run}`;
}

export function valuesAt(thread: string, step: number): { readonly list: readonly string[] } {
  return { list: Array.from({ length: step + 1 }, (_, i) => `${thread} ${i} ${prose(i, 200)}`) };
}

/** The same in each thread. */
export function idAt(step: number): string {
  return `1f000000-0000-6000-8000-${step.toString(16).padStart(12, "0")}`;
}

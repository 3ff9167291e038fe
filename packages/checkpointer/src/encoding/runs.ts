import type { Chunk } from "./chunk.ts";

/** One item, or one key with its value, of a container. */
export interface Unit {
  readonly text: string;
  readonly chunks: readonly Chunk[];
}

/** Expected characters of a run. Small, because each new version of a growing list writes its last run again. */
const TARGET = 320;

/**
 * Cuts a long sequence into runs whose borders depend on the items' own content, so that appending, inserting or removing
 * changes only the runs it touches and all others keep their hash. A border comes after an item with a probability of its
 * length over TARGET; a run has at least two items (each level must shrink) and at most four times TARGET characters.
 */
export function runsOf(units: readonly Unit[]): (readonly Unit[])[] {
  const runs: (readonly Unit[])[] = [];
  let start = 0;
  let length = 0;
  for (let i = 0; i < units.length; i++) {
    const text = (units[i] as Unit).text;
    length += text.length + 1;
    const border = length > 4 * TARGET || fnv(text) < (text.length / TARGET) * 0x1_0000_0000;
    if ((border && i > start) || i === units.length - 1) {
      runs.push(units.slice(start, i + 1));
      start = i + 1;
      length = 0;
    }
  }
  return runs;
}

function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // the high bits of FNV are weak on short texts: fold once more
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

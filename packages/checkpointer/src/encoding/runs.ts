import { chunkOf } from "./chunk.ts";
import { type CutMemory, type Form, reference } from "./node.ts";
import { OP } from "./ops.ts";

/**
 * Expected characters of a run. Small, because each new version of a growing list writes its last run again; not smaller, because a state is read in
 * as many rows as it has chunks.
 */
const TARGET = 1_280;

/**
 * Cuts a long sequence into runs whose borders depend on the items' own content, so that appending, inserting or removing
 * changes only the runs it touches and all others keep their hash. A border comes after an item with a probability of its
 * length over TARGET; a run has at least two items (each level must shrink) and at most four times TARGET characters.
 */
export function runsOf(units: readonly Form[]): Form[] {
  const runs: Form[] = [];
  let start = 0;
  let length = 0;
  for (let i = 0; i < units.length; i++) {
    const unit = units[i] as Form;
    const run = i === start ? unit.cut?.run : undefined;
    // where it ended depends on its own items alone, if it did not end with the list
    if (run?.isClosed && isSlice(run.units, units, start)) {
      runs.push(run.form);
      start = i + run.units.length;
      i = start - 1;
      continue;
    }
    length += unit.inline.length + 1;
    const border = length > 4 * TARGET || memoryOf(unit).mark < (unit.inline.length / TARGET) * 0x1_0000_0000;
    if ((border && i > start) || i === units.length - 1) {
      runs.push(runOf(units, start, i + 1, border && i > start));
      start = i + 1;
      length = 0;
    }
  }
  return runs;
}

function runOf(units: readonly Form[], start: number, end: number, isClosed: boolean): Form {
  const memory = memoryOf(units[start] as Form);
  const slice = units.slice(start, end);
  const chunk = chunkOf(slice.map((unit) => unit.inline).join(","), chunksOf(slice));
  const form = reference(OP.RUN, chunk);
  memory.run = { units: slice, form, isClosed };
  return form;
}

export function chunksOf(units: readonly Form[]): Form["chunks"] {
  return units.flatMap((unit) => unit.chunks);
}

function isSlice(slice: readonly Form[], units: readonly Form[], start: number): boolean {
  // past the end there is undefined, which is no unit
  for (let i = 0; i < slice.length; i++) if (slice[i] !== units[start + i]) return false;
  return true;
}

function memoryOf(form: Form): CutMemory {
  form.cut ??= { mark: fnv(form.inline) };
  return form.cut;
}

function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // the high bits of FNV are weak on short texts: fold once more
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

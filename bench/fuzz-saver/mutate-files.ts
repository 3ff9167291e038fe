import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Draw } from "./base.ts";
import { changedBytes } from "./changed-bytes.ts";

export interface FileMutation {
  /** For a message. */
  readonly what: string;
  readonly undo: () => void;
}

/** Changes bytes or lines of one of the files of a folder of journals. */
export function mutateJournal(folder: string, draw: Draw): FileMutation {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .sort();
  const path = draw.of(files);
  const before = readFileSync(path);
  for (;;) {
    const [how, after] = changedText(before, draw);
    if (before.equals(after)) continue;
    writeFileSync(path, after);
    return { what: `${path}: ${how}`, undo: () => writeFileSync(path, before) };
  }
}

function changedText(before: Buffer, draw: Draw): [string, Buffer] {
  const lines = before.toString("utf8").split("\n");
  const i = draw.below(lines.length);
  const j = draw.below(lines.length);
  const text = (changed: readonly string[]) => Buffer.from(changed.join("\n"));
  switch (draw.below(8)) {
    case 0:
      return [`line ${i} left out`, text(lines.toSpliced(i, 1))];
    case 1:
      return [`line ${i} twice`, text(lines.toSpliced(i, 0, lines[i] as string))];
    case 2: {
      const swapped = lines.with(i, lines[j] as string).with(j, lines[i] as string);
      return [`lines ${i} and ${j} exchanged`, text(swapped)];
    }
    default:
      return changedBytes(before, draw);
  }
}

const PAGE = 4_096;

/** Damages a closed SQLite file below the level of rows: bits, bytes, whole pages, its length. */
export function mutatePages(path: string, draw: Draw): FileMutation {
  const before = readFileSync(path);
  for (;;) {
    const [how, after] = changedPages(before, draw);
    if (before.equals(after)) continue;
    writeFileSync(path, after);
    return { what: `${path}: ${how}`, undo: () => writeFileSync(path, before) };
  }
}

function changedPages(before: Buffer, draw: Draw): [string, Buffer] {
  const pages = Math.floor(before.length / PAGE);
  const n = draw.below(pages);
  const after = Buffer.from(before);
  switch (draw.below(6)) {
    case 0:
      return [`page ${n} is zeros`, after.fill(0, n * PAGE, (n + 1) * PAGE)];
    case 1:
      draw.bytes(PAGE).copy(after, n * PAGE);
      return [`page ${n} is random`, after];
    case 2: {
      const other = draw.below(pages);
      before.copy(after, n * PAGE, other * PAGE, (other + 1) * PAGE);
      return [`page ${n} is page ${other}`, after];
    }
    case 3: {
      const length = draw.below(after.length);
      return [`cut to ${length} bytes`, after.subarray(0, length)];
    }
    case 4: {
      const at = n * PAGE + draw.below(100);
      after[at] = draw.below(256);
      return [`byte ${at}, near the head of page ${n}`, after];
    }
    default: {
      const at = draw.below(after.length);
      after[at] = (after[at] as number) ^ (1 << draw.below(8));
      return [`a bit of byte ${at}`, after];
    }
  }
}

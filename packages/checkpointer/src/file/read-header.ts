import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";

/** Longer than a header with the longest thread id. */
const HEADER_UP_TO = 32_768;

/** The thread whose journal stands in a folder; undefined where there is none that can be read. */
export function readHeader(folder: string): string | undefined {
  let file: number;
  try {
    file = openSync(join(folder, "journal.jsonl"), "r");
  } catch {
    return undefined;
  }
  try {
    const bytes = Buffer.alloc(HEADER_UP_TO);
    const text = bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, 0));
    const { threadId } = JSON.parse(text.slice(0, text.indexOf("\n"))) as { threadId?: unknown };
    return typeof threadId === "string" ? threadId : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { DamagedRecordError, StorageWriteError } from "../errors.ts";

export type Entry = Readonly<Record<string, unknown>>;

/** First line of a journal. */
export interface Header {
  readonly format: "longhaul-journal";
  readonly version: 1;
  readonly threadId: string;
  /** Another one for each rewritten journal. */
  readonly life: string;
  readonly revision: number;
}

interface Position {
  readonly inode: number;
  readonly life: string;
  length: number;
  lines: number;
}

const SUM = 8;
const PREFIX = '{"sum":"';
/** Width of the file that holds the acknowledged length, so that writing it is one write over the old one. */
const LENGTH_WIDTH = 96;

/**
 * One append-only file of JSON lines, each with a checksum of its place and content. A line that a crash cut short was never acknowledged and is
 * taken away by the next write; the acknowledged length stands beside it, so that a file that was cut is noticed.
 */
export class Journal {
  readonly path: string;
  readonly #lengthPath: string;
  readonly #threadId: string;
  #position: Position | undefined;

  constructor(folder: string, threadId: string) {
    this.path = join(folder, "journal.jsonl");
    this.#lengthPath = join(folder, "length.json");
    this.#threadId = threadId;
  }

  /**
   * New entries since the last call. `fresh`: all of them, because the journal is another one than before.
   *
   * @throws DamagedRecordError
   */
  read(): {
    readonly fresh: boolean;
    readonly header: Header | undefined;
    readonly entries: readonly Entry[];
  } {
    if (!existsSync(this.path)) {
      if (existsSync(this.#lengthPath)) throw this.#damaged("it is missing, and its length beside it is not");
      const fresh = this.#position !== undefined;
      this.#position = undefined;
      return { fresh, header: undefined, entries: [] };
    }
    const file = openSync(this.path, "r");
    try {
      const { ino, size } = fstatSync(file);
      const known = this.#position;
      const isSame = known?.inode === ino && size >= known.length;
      const start = isSame ? known.length : 0;
      const text = readFrom(file, start, size).toString("utf8");
      const complete = text.slice(0, text.lastIndexOf("\n") + 1);
      const position = isSame ? known : { inode: ino, life: "", length: 0, lines: 0 };
      const entries: Entry[] = [];
      let header: Header | undefined;
      let { life, lines } = position;
      for (const line of complete.split("\n").slice(0, -1)) {
        lines += 1;
        const entry = this.#parse(line, lines === 1 ? "" : life, lines);
        if (lines === 1) {
          header = this.#headerOf(entry);
          life = header.life;
        } else entries.push(entry);
      }
      const length = start + Buffer.byteLength(complete, "utf8");
      this.#checkLength(life, length);
      this.#position = { inode: ino, life, length, lines };
      return { fresh: !isSame, header, entries };
    } finally {
      closeSync(file);
    }
  }

  /** Adds an entry after all that was read. Under the lock of the folder, after `read`. */
  append(entry: Entry, durable: boolean): void {
    const position = this.#position;
    if (!position) throw new Error("there is no journal");
    const line = Buffer.from(`${lineOf(entry, position.life, position.lines + 1)}\n`, "utf8");
    this.#writing(() => {
      const file = openSync(this.path, "r+");
      try {
        // what a crash left of a line
        if (fstatSync(file).size > position.length) ftruncateSync(file, position.length);
        writeAll(file, line, position.length);
        if (durable) fsyncSync(file);
      } catch (error) {
        ftruncateSync(file, position.length);
        throw error;
      } finally {
        closeSync(file);
      }
      position.length += line.length;
      position.lines += 1;
      this.#acknowledge();
    });
  }

  /** Puts a new journal in place of this one, or as the first. Under the lock of the folder. */
  replace(header: Header, entries: Iterable<Entry>, durable: boolean): void {
    this.#writing(() => {
      mkdirSync(dirname(this.path), { recursive: true });
      const temporary = `${this.path}.new`;
      const file = openSync(temporary, "w");
      let length = 0;
      let lines = 0;
      try {
        for (const entry of [{ ...header }, ...entries]) {
          lines += 1;
          const line = Buffer.from(`${lineOf(entry, lines === 1 ? "" : header.life, lines)}\n`, "utf8");
          writeAll(file, line, length);
          length += line.length;
        }
        if (durable) fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(temporary, this.path);
      if (durable) syncFolder(dirname(this.path));
      this.#position = { inode: statSync(this.path).ino, life: header.life, length, lines };
      this.#acknowledge();
    });
  }

  #acknowledge(): void {
    const { life, length } = this.#position as Position;
    const text = Buffer.from(`${JSON.stringify({ life, length }).padEnd(LENGTH_WIDTH)}\n`);
    // the first one appears with its content, so that a killed process leaves no empty file
    const isFirst = !existsSync(this.#lengthPath);
    const path = isFirst ? `${this.#lengthPath}.new` : this.#lengthPath;
    const file = openSync(path, isFirst ? "w" : "r+");
    try {
      writeAll(file, text, 0);
    } finally {
      closeSync(file);
    }
    if (isFirst) renameSync(path, this.#lengthPath);
  }

  #checkLength(life: string, length: number): void {
    if (!existsSync(this.#lengthPath)) return;
    let acknowledged: { life?: unknown; length?: unknown };
    try {
      acknowledged = JSON.parse(readFileSync(this.#lengthPath, "utf8"));
    } catch (cause) {
      throw this.#damaged("the acknowledged length beside it cannot be read", cause);
    }
    // of the journal before the last rewriting; none is without its first line from the moment on at which it is there
    if (acknowledged.life !== life && life !== "") return;
    if (typeof acknowledged.length !== "number" || length < acknowledged.length)
      throw this.#damaged(`it ends after ${length} bytes, ${acknowledged.length} were acknowledged`);
  }

  #parse(line: string, life: string, index: number): Entry {
    const content = line.slice(PREFIX.length + SUM + 2);
    const sum = line.slice(PREFIX.length, PREFIX.length + SUM);
    const isFramed = line.startsWith(PREFIX) && line.startsWith('",', PREFIX.length + SUM);
    if (!isFramed || sum !== sumOf(content, life, index))
      throw this.#damaged(`the checksum of line ${index} does not match`);
    try {
      return JSON.parse(`{${content}`) as Entry;
    } catch (cause) {
      throw this.#damaged(`line ${index} is not JSON`, cause);
    }
  }

  #headerOf(entry: Entry): Header {
    if (entry.format !== "longhaul-journal") throw this.#damaged("it is no journal");
    if (entry.version !== 1)
      throw this.#damaged(`version ${String(entry.version)} is unknown; a newer version may have written it`);
    if (entry.threadId !== this.#threadId) throw this.#damaged("it belongs to another thread");
    return entry as unknown as Header;
  }

  #writing(job: () => void): void {
    try {
      job();
    } catch (cause) {
      const code = (cause as { code?: string }).code ?? "";
      const reason = /ENOSPC|EDQUOT/.test(code)
        ? "full"
        : /EROFS|EACCES|EPERM/.test(code)
          ? "read-only"
          : "io";
      throw new StorageWriteError({ target: this.path, reason, cause });
    }
  }

  #damaged(reason: string, cause?: unknown): DamagedRecordError {
    return new DamagedRecordError({
      reason: `${this.path}: ${reason}`,
      place: { threadId: this.#threadId },
      cause,
    });
  }
}

function lineOf(entry: Entry, life: string, index: number): string {
  const content = JSON.stringify(entry).slice(1);
  return `${PREFIX}${sumOf(content, life, index)}",${content}`;
}

/** Of the place too: a line that was moved, doubled or left out is noticed. */
function sumOf(content: string, life: string, index: number): string {
  return crc32(content, crc32(`${life}:${index}:`))
    .toString(16)
    .padStart(SUM, "0");
}

function readFrom(file: number, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(end - start);
  let done = 0;
  while (done < bytes.length) {
    const count = readSync(file, bytes, done, bytes.length - done, start + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}

function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

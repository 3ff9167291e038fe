import { randomBytes } from "node:crypto";
import type { Clock, RecordKey } from "@longhaul/core";
import type { ArtifactRow, Batch, RecordRow, Row, Sweep } from "../driver/driver.ts";
import { DamagedRecordError } from "../errors.ts";
import { MemoryArtifacts } from "../memory/memory-artifacts.ts";
import { MemoryRecords } from "../memory/memory-records.ts";
import { MemoryThread } from "../memory/memory-thread.ts";
import { type BlobJson, fromJson, toJson } from "./blob-json.ts";
import { type Entry, Journal } from "./journal.ts";

type Change =
  | ({ readonly op: "commit"; readonly born: number } & Pick<
      Batch,
      "namespace" | "chunks" | "values" | "head" | "writes"
    >)
  | { readonly op: "record"; readonly row: RecordRow }
  | { readonly op: "forget"; readonly key: RecordKey }
  | { readonly op: "artifact"; readonly row: ArtifactRow }
  | { readonly op: "row"; readonly row: Row }
  | { readonly op: "born"; readonly at: number };

/** What one thread's journal says, held in memory while it is in use: its packed rows, some megabytes for a long run. */
export class ThreadFile {
  readonly threadId: string;
  readonly journal: Journal;
  readonly #clock: Pick<Clock, "now">;
  life = "";
  /** Milliseconds with fractions: when the first commit was made. */
  born: number | undefined;
  rows: MemoryThread | undefined;
  records: MemoryRecords;
  artifacts = new MemoryArtifacts();

  constructor(folder: string, threadId: string, clock: Pick<Clock, "now">) {
    this.threadId = threadId;
    this.#clock = clock;
    this.journal = new Journal(folder, threadId);
    this.records = new MemoryRecords(clock);
  }

  /** Reads what other processes have added. @throws DamagedRecordError */
  refresh(): void {
    const { fresh, header, entries } = this.journal.read();
    if (fresh) {
      this.life = header?.life ?? "";
      this.born = undefined;
      this.rows = undefined;
      this.records = new MemoryRecords(this.#clock);
      this.artifacts = new MemoryArtifacts();
    }
    const revision = header?.revision ?? 0;
    for (const entry of entries) {
      try {
        this.#apply(changeOf(entry), revision);
      } catch (cause) {
        const place = { threadId: this.threadId };
        throw new DamagedRecordError({
          reason: `${this.journal.path}: an entry has another shape`,
          place,
          cause,
        });
      }
    }
  }

  /** Under the lock. */
  write(change: Change, durable: boolean): void {
    if (this.life === "") this.#rewrite([], 0, false);
    this.journal.append(entryOf(change), durable);
    this.#apply(change, 0);
  }

  /** Under the lock. */
  sweep(sweep: Sweep): void {
    this.rows?.sweep(sweep);
    this.#rewrite(this.#everything(), this.rows?.revision ?? 0, false);
  }

  /** Leaves leases and the generation. Under the lock. */
  erase(generation: { readonly key: RecordKey; readonly data: Uint8Array }): void {
    const version = this.records.nextVersion(generation.key);
    this.records.set(generation.key, version, { data: generation.data, expiresAt: undefined });
    this.records.forgetThread(this.threadId);
    this.artifacts = new MemoryArtifacts();
    this.rows = undefined;
    this.born = undefined;
    this.#rewrite(this.#everything(), 0, true);
  }

  #everything(): Change[] {
    const rows = [
      ...(this.rows?.rows() ?? []),
      ...this.records.rows(undefined),
      ...this.artifacts.rows(undefined),
    ];
    const changes = rows.map((row): Change => ({ op: "row", row }));
    return this.born === undefined ? changes : [{ op: "born", at: this.born }, ...changes];
  }

  #rewrite(changes: readonly Change[], revision: number, durable: boolean): void {
    this.life = randomBytes(8).toString("hex");
    const { threadId, life } = this;
    this.journal.replace(
      { format: "longhaul-journal", version: 1, threadId, life, revision },
      changes.map(entryOf),
      durable,
    );
  }

  #apply(change: Change, revision: number): void {
    switch (change.op) {
      case "commit":
        this.born ??= change.born;
        this.rows ??= new MemoryThread(this.threadId);
        this.rows.apply(change);
        return;
      case "record":
        this.records.set(change.row.key, change.row.version, change.row);
        return;
      case "forget":
        this.records.remove(change.key);
        return;
      case "artifact":
        this.artifacts.put(this.threadId, change.row);
        return;
      case "born":
        this.born = change.at;
        this.rows ??= new MemoryThread(this.threadId, { revision, swept: 0 });
        return;
      case "row": {
        const { row } = change;
        if (row.kind === "record") this.records.set(row.key, row.version, row);
        else if (row.kind === "artifact") this.artifacts.put(this.threadId, row);
        else this.rows?.restore(row);
      }
    }
  }
}

/** Bytes, wherever they stand, as readable JSON. */
function entryOf(change: Change): Entry {
  return mapBytes(change, (value) =>
    value instanceof Uint8Array ? { $bytes: toJson(value) } : undefined,
  ) as Entry;
}

function changeOf(entry: Entry): Change {
  return mapBytes(entry, (value) => {
    const bytes = (value as { $bytes?: BlobJson } | null)?.$bytes;
    return bytes === undefined ? undefined : fromJson(bytes);
  }) as Change;
}

/** Changes are a few levels deep, whatever the state is like. */
function mapBytes(value: unknown, replace: (value: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(value)) return value.map((item) => mapBytes(item, replace));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, mapBytes(item, replace)]),
  );
}

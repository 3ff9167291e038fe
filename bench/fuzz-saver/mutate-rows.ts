import { type SqliteFile, sqliteFile } from "../saver/native.ts";
import type { Draw } from "./base.ts";
import { changedBytes } from "./changed-bytes.ts";
import type { Wanted } from "./complaint.ts";

type Row = Readonly<Record<string, unknown>>;

interface Table {
  readonly name: string;
  /** Columns that name the row. Order and revision numbers are no part of what is sealed, so they are left alone. */
  readonly address: readonly string[];
  readonly data: readonly string[];
  readonly key: readonly string[];
  readonly wanted: Wanted;
}

const IN_CHANNEL: Wanted = { checkpoint: true, channel: true };
const ELSEWHERE: Wanted = { checkpoint: false, channel: false };

const TABLES: readonly Table[] = [
  {
    name: "heads",
    address: ["ns", "checkpoint_id", "parent_id"],
    data: ["data"],
    key: ["thread", "sequence"],
    wanted: { checkpoint: true, channel: false },
  },
  {
    name: "channel_values",
    address: ["ns", "channel", "version"],
    data: ["data"],
    key: ["thread", "ns", "channel", "version"],
    wanted: IN_CHANNEL,
  },
  {
    name: "writes",
    address: ["ns", "checkpoint_id", "task_id", "idx", "task_path", "channel"],
    data: ["data"],
    key: ["thread", "ns", "checkpoint_id", "task_id", "idx"],
    wanted: IN_CHANNEL,
  },
  { name: "chunks", address: ["hash"], data: ["data"], key: ["id"], wanted: IN_CHANNEL },
  {
    name: "records",
    address: ["collection", "key", "expires_at"],
    data: ["data"],
    key: ["collection", "thread_id", "key"],
    wanted: ELSEWHERE,
  },
  { name: "artifacts", address: ["ref", "chars"], data: ["data", "meta"], key: ["id"], wanted: ELSEWHERE },
];

export interface RowMutation {
  /** For a message. */
  readonly what: string;
  /** The row's address was changed: it may be missing where it was, which only `verify` can tell. */
  readonly isAddress: boolean;
  readonly wanted: Wanted;
  readonly undo: () => void;
}

/** Changes one column of one row with plain SQL. */
export function mutateRow(path: string, draw: Draw): RowMutation {
  const table = draw.of(TABLES);
  const isAddress = draw.below(3) === 0;
  const column = draw.of(isAddress ? table.address : table.data);
  const database = sqliteFile(path);
  const rows = database.prepare(`SELECT * FROM ${table.name}`).all();
  const row = draw.of(rows);
  const key = table.key.map((name) => row[name]);
  const where = table.key.map((name) => `${name} = ?`).join(" AND ");
  for (;;) {
    const [how, after] = changed(row[column], draw, rows, column);
    if (isEqual(row[column], after)) continue;
    database.exec("BEGIN");
    try {
      database.prepare(`UPDATE ${table.name} SET ${column} = ? WHERE ${where}`).run(after, ...key);
    } catch {
      // the place is taken, or the column does not take this: another change then
      database.exec("ROLLBACK");
      continue;
    }
    database.exec("COMMIT");
    database.close();
    return {
      what: `${table.name} ${JSON.stringify(key.map(String))} ${column}: ${how}`,
      isAddress,
      wanted: table.wanted,
      undo: () => restore(path, table.name, rows),
    };
  }
}

function restore(path: string, table: string, rows: readonly Row[]): void {
  const database = sqliteFile(path);
  database.exec("BEGIN");
  database.exec(`DELETE FROM ${table}`);
  for (const row of rows) insert(database, table, row);
  database.exec("COMMIT");
  database.close();
}

function insert(database: SqliteFile, table: string, row: Row): void {
  const names = Object.keys(row);
  const places = names.map(() => "?").join(", ");
  database
    .prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${places})`)
    .run(...names.map((name) => row[name]));
}

/** @returns how, and the new value */
function changed(before: unknown, draw: Draw, rows: readonly Row[], column: string): [string, unknown] {
  if (draw.below(6) === 0) return ["that of another row", draw.of(rows)[column]];
  if (before instanceof Uint8Array) {
    if (draw.below(10) === 0) return ["a text", Buffer.from(before).toString("base64")];
    return changedBytes(Buffer.from(before), draw);
  }
  if (typeof before === "number") return ["another number", before + draw.below(2_000) - 1_000];
  if (before === null) return ["a text for null", "x"];
  const text = String(before);
  if (draw.below(8) === 0) return ["bytes for text", Buffer.from(text)];
  const at = draw.below(text.length);
  const other = String.fromCharCode(33 + draw.below(90));
  return [`character ${at} is ${other}`, text.slice(0, at) + other + text.slice(at + 1)];
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  return a === b;
}

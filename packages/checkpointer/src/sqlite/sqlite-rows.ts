import type { Row, RowKind } from "../driver/driver.ts";
import { bytes, integer, optional, text } from "./columns.ts";
import type { Connection } from "./connection.ts";

interface Thread {
  readonly id: number;
  readonly threadId: string;
}

type Found = Record<string, unknown>;

interface Table {
  readonly kind: RowKind;
  readonly name: string;
  /** What a unique key of the table has after `thread`. */
  readonly key: readonly string[];
  readonly columns: string;
  readonly toRow: (thread: Thread, found: Found) => Row;
}

/** Rows of up to 64 KB. */
const PAGE = 100;

const TABLES: readonly Table[] = [
  {
    kind: "head",
    name: "heads",
    key: ["sequence"],
    columns: "ns, checkpoint_id, parent_id, sequence, data",
    toRow: ({ threadId }, found) => ({
      kind: "head",
      threadId,
      namespace: text(found.ns, "ns"),
      checkpointId: text(found.checkpoint_id, "checkpoint_id"),
      parentId: optional(found.parent_id, "parent_id", text),
      sequence: integer(found.sequence, "sequence"),
      data: bytes(found.data, "data"),
    }),
  },
  {
    kind: "value",
    name: "channel_values",
    key: ["ns", "channel", "version"],
    columns: "ns, channel, version, data",
    toRow: ({ threadId }, found) => ({
      kind: "value",
      threadId,
      namespace: text(found.ns, "ns"),
      channel: text(found.channel, "channel"),
      version: text(found.version, "version"),
      data: bytes(found.data, "data"),
    }),
  },
  {
    kind: "write",
    name: "writes",
    key: ["ns", "checkpoint_id", "task_id", "idx"],
    columns: "ns, checkpoint_id, task_id, idx, task_path, channel, data",
    toRow: ({ threadId }, found) => ({
      kind: "write",
      threadId,
      namespace: text(found.ns, "ns"),
      checkpointId: text(found.checkpoint_id, "checkpoint_id"),
      taskId: text(found.task_id, "task_id"),
      index: integer(found.idx, "idx"),
      taskPath: text(found.task_path, "task_path"),
      channel: text(found.channel, "channel"),
      data: bytes(found.data, "data"),
    }),
  },
  {
    kind: "chunk",
    name: "chunks",
    // the index by hash gives this order; by id each page would sort all chunks of the thread
    key: ["hash"],
    columns: "hash, data",
    toRow: ({ threadId }, found) => ({
      kind: "chunk",
      threadId,
      hash: Buffer.from(bytes(found.hash, "hash")).toString("base64url"),
      data: bytes(found.data, "data"),
    }),
  },
];

/** Every checkpoint row of a thread, page after page in key order. */
export async function* readRows(
  connection: Connection,
  thread: Thread,
  wants: (kind: RowKind) => boolean,
): AsyncIterable<Row> {
  for (const { kind, name, key, columns, toRow } of TABLES) {
    if (!wants(kind)) continue;
    const order = key.join(", ");
    const after = `(${order}) > (${key.map(() => "?").join(", ")})`;
    let last: Found | undefined;
    for (;;) {
      const from = last;
      const rows = await connection.read(() =>
        connection
          .statement(
            `SELECT ${columns} FROM ${name} WHERE thread = ? ${from ? `AND ${after}` : ""} ORDER BY ${order} LIMIT ${PAGE}`,
          )
          .all(thread.id, ...(from ? key.map((column) => from[column]) : [])),
      );
      for (const row of rows as Found[]) yield toRow(thread, row);
      if (rows.length < PAGE) break;
      last = rows.at(-1) as Found;
    }
  }
}

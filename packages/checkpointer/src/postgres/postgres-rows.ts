import type { Row, RowKind } from "../driver/driver.ts";
import type { PostgresConnection } from "./postgres-connection.ts";

interface Thread {
  readonly id: string;
  readonly threadId: string;
}

type Found = Record<string, unknown> & { readonly data: Uint8Array };

interface Table {
  readonly kind: RowKind;
  readonly name: string;
  /** The rest of the primary key after `thread`. */
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
    key: ["key"],
    columns: "key, ns, checkpoint_id, parent_id, sequence, data",
    toRow: ({ threadId }, found) => ({
      kind: "head",
      threadId,
      namespace: found.ns as string,
      checkpointId: found.checkpoint_id as string,
      parentId: (found.parent_id as string | null) ?? undefined,
      sequence: Number(found.sequence),
      data: found.data,
    }),
  },
  {
    kind: "value",
    name: "channel_values",
    key: ["key"],
    columns: "key, ns, channel, version, data",
    toRow: ({ threadId }, found) => ({
      kind: "value",
      threadId,
      namespace: found.ns as string,
      channel: found.channel as string,
      version: found.version as string,
      data: found.data,
    }),
  },
  {
    kind: "write",
    name: "writes",
    key: ["head", "key"],
    columns: "head, key, ns, checkpoint_id, task_id, idx, task_path, channel, data",
    toRow: ({ threadId }, found) => ({
      kind: "write",
      threadId,
      namespace: found.ns as string,
      checkpointId: found.checkpoint_id as string,
      taskId: found.task_id as string,
      index: found.idx as number,
      taskPath: found.task_path as string,
      channel: found.channel as string,
      data: found.data,
    }),
  },
  {
    kind: "chunk",
    name: "chunks",
    key: ["hash"],
    columns: "hash, data",
    toRow: ({ threadId }, found) => ({
      kind: "chunk",
      threadId,
      hash: (found.hash as Buffer).toString("base64url"),
      data: found.data,
    }),
  },
];

/** Every checkpoint row of a thread, page after page in key order. */
export async function* readRows(
  connection: PostgresConnection,
  thread: Thread,
  wants: (kind: RowKind) => boolean,
): AsyncIterable<Row> {
  for (const { kind, name, key, columns, toRow } of TABLES) {
    if (!wants(kind)) continue;
    const order = key.join(", ");
    const after = `(${order}) > (${key.map((_, i) => `$${i + 2}::bytea`).join(", ")})`;
    let last: Found | undefined;
    for (;;) {
      const from = last;
      const rows: Found[] = await connection.read<Found>(
        `SELECT ${columns} FROM ${connection.table(name)} WHERE thread = $1 ${from ? `AND ${after}` : ""} ORDER BY ${order} LIMIT ${PAGE}`,
        [thread.id, ...(from ? key.map((column) => from[column]) : [])],
      );
      for (const row of rows) yield toRow(thread, row);
      if (rows.length < PAGE) break;
      last = rows.at(-1) as Found;
    }
  }
}

import type { HeadRow, StorageDriver } from "../driver/driver.ts";
import { place } from "../encoding/place.ts";
import { parseTokens, referencesOf } from "../encoding/references.ts";
import type { Codec } from "./codec.ts";
import type { Head } from "./head.ts";

/** A checkpoint as far as retention has to know it. */
export interface IndexedHead {
  readonly row: HeadRow;
  readonly head: Head;
  /** Channels that its pending writes go to. */
  readonly written: ReadonlySet<string>;
}

/** Everything of one thread but the contents: addresses and references. Memory grows with the number of rows, not with their size. */
export interface ThreadIndex {
  readonly threadId: string;
  readonly revision: string;
  /** By `headId`, in the order in which they were committed. */
  readonly heads: ReadonlyMap<string, IndexedHead>;
  readonly values: ReadonlyMap<string, IndexedValue>;
  /** Checkpoints that have writes, also those that are not there. */
  readonly writes: ReadonlyMap<string, IndexedWrites>;
  /** Chunks and those they refer to. */
  readonly chunks: ReadonlyMap<string, readonly string[]>;
}

interface IndexedValue {
  readonly namespace: string;
  readonly channel: string;
  readonly version: string;
  readonly references: readonly string[];
}

interface IndexedWrites {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly channels: Set<string>;
  readonly references: string[];
}

export function headId(namespace: string, checkpointId: string): string {
  return JSON.stringify([namespace, checkpointId]);
}

export function valueKeyOf(namespace: string, channel: string, version: string): string {
  return JSON.stringify([namespace, channel, version]);
}

/** Reads every row of a thread once. @throws DamagedRecordError: what cannot be read must not decide what is deleted. */
export async function indexThread(
  driver: StorageDriver,
  codec: Codec,
  threadId: string,
): Promise<ThreadIndex | undefined> {
  const state = await driver.thread(threadId);
  if (!state) return undefined;
  const heads: { row: HeadRow; head: Head }[] = [];
  const values = new Map<string, IndexedValue>();
  const writes = new Map<string, IndexedWrites>();
  const chunks = new Map<string, readonly string[]>();
  const references = (text: string) => referencesOf(parseTokens(text));
  for await (const row of driver.rows(threadId, ["head", "value", "write", "chunk"])) {
    switch (row.kind) {
      case "head": {
        const { kind: _, ...head } = row;
        heads.push({
          row: head,
          head: codec.heads.read(codec.unseal(row.data, place.head(row, row.parentId))),
        });
        break;
      }
      case "value": {
        const { namespace, channel, version } = row;
        const text = codec.unseal(row.data, place.value(threadId, namespace, row));
        const value = { namespace, channel, version, references: references(text) };
        values.set(valueKeyOf(namespace, channel, version), value);
        break;
      }
      case "write": {
        const { namespace, checkpointId } = row;
        const id = headId(namespace, checkpointId);
        const of = writes.get(id) ?? { namespace, checkpointId, channels: new Set(), references: [] };
        writes.set(id, of);
        of.channels.add(row.channel);
        of.references.push(...references(codec.unseal(row.data, place.write(row, row))));
        break;
      }
      case "chunk":
        chunks.set(row.hash, references(codec.unseal(row.data, place.chunk(threadId, row.hash))));
    }
  }
  heads.sort((a, b) => a.row.sequence - b.row.sequence);
  const none: ReadonlySet<string> = new Set();
  const indexed = heads.map(({ row, head }): [string, IndexedHead] => {
    const id = headId(row.namespace, row.checkpointId);
    return [id, { row, head, written: writes.get(id)?.channels ?? none }];
  });
  return { threadId, revision: state.revision, heads: new Map(indexed), values, writes, chunks };
}

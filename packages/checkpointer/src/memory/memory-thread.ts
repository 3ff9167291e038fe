import type {
  Batch,
  CommitResult,
  HeadAddress,
  HeadQuery,
  HeadRow,
  Row,
  Sweep,
  ThreadRow,
  ValueKey,
  ValueRow,
  WriteRow,
} from "../driver/driver.ts";
import { copyOf, idOf } from "./bytes.ts";

interface Namespace {
  readonly heads: Map<string, HeadRow>;
  readonly values: Map<string, ValueRow>;
  /** By checkpoint id, then by task and index. */
  readonly writes: Map<string, Map<string, WriteRow>>;
  newest: HeadRow | undefined;
}

/** The checkpoint rows of one thread in Maps. What comes in and goes out is copied. */
export class MemoryThread {
  readonly threadId: string;
  readonly #namespaces = new Map<string, Namespace>();
  readonly #chunks = new Map<string, Uint8Array>();
  #revision: number;
  #swept: number;

  constructor(threadId: string, state = { revision: 0, swept: 0 }) {
    this.threadId = threadId;
    this.#revision = state.revision;
    this.#swept = state.swept;
  }

  get revision(): number {
    return this.#revision;
  }

  get swept(): number {
    return this.#swept;
  }

  /** The answer that forbids the commit, if there is one. Changes nothing. */
  refusal({ namespace, values, isSame }: Batch): CommitResult | undefined {
    const present = this.#namespaces.get(namespace)?.values;
    for (const { channel, version, data } of values) {
      const stored = present?.get(idOf(channel, version))?.data;
      if (stored && Buffer.compare(stored, data) !== 0 && !isSame({ channel, version }, stored, data))
        return { ok: false, reason: "conflict", key: { channel, version } };
    }
    return undefined;
  }

  /** Applies a batch that nothing forbids. @returns the sibling of a fork */
  apply(batch: Pick<Batch, "namespace" | "chunks" | "values" | "head" | "writes">): string | undefined {
    const namespace = this.#namespace(batch.namespace);
    this.#revision += 1;
    for (const { hash, data } of batch.chunks)
      if (!this.#chunks.has(hash)) this.#chunks.set(hash, copyOf(data));
    for (const { channel, version, data } of batch.values) {
      const id = idOf(channel, version);
      if (!namespace.values.has(id)) namespace.values.set(id, { channel, version, data: copyOf(data) });
    }
    if (batch.writes) putWrites(batch.writes, namespace);
    if (!batch.head) return undefined;
    const { checkpointId, parentId, data } = batch.head;
    const newest = namespace.newest?.checkpointId;
    const sequence = namespace.heads.get(checkpointId)?.sequence ?? this.#revision;
    const address = { threadId: this.threadId, namespace: batch.namespace, checkpointId };
    this.#setHead(namespace, { ...address, parentId, sequence, data: copyOf(data) });
    return newest === parentId || newest === checkpointId ? undefined : newest;
  }

  sweep({ heads, values, chunks, rewritten }: Sweep): void {
    this.#revision += 1;
    this.#swept += 1;
    for (const { namespace, checkpointId } of heads) {
      const rows = this.#namespaces.get(namespace);
      rows?.heads.delete(checkpointId);
      rows?.writes.delete(checkpointId);
    }
    for (const { namespace, channel, version } of values)
      this.#namespaces.get(namespace)?.values.delete(idOf(channel, version));
    for (const hash of chunks) this.#chunks.delete(hash);
    for (const head of rewritten) {
      const rows = this.#namespaces.get(head.namespace)?.heads;
      const old = rows?.get(head.checkpointId);
      if (rows && old)
        rows.set(head.checkpointId, { ...head, sequence: old.sequence, data: copyOf(head.data) });
    }
    for (const namespace of this.#namespaces.values()) namespace.newest = newestOf(namespace.heads);
  }

  /** Puts a row back as it was. */
  restore(row: Row): void {
    if (row.kind === "chunk") this.#chunks.set(row.hash, row.data);
    else if (row.kind === "head") {
      const { kind: _, ...head } = row;
      this.#setHead(this.#namespace(row.namespace), head);
    } else if (row.kind === "value") {
      const { channel, version, data } = row;
      this.#namespace(row.namespace).values.set(idOf(channel, version), { channel, version, data });
    } else if (row.kind === "write") {
      const { taskId, index, taskPath, channel, data, checkpointId } = row;
      putWrites(
        { checkpointId, rows: [{ taskId, index, taskPath, channel, data }] },
        this.#namespace(row.namespace),
      );
    }
  }

  head(namespace: string, checkpointId?: string): HeadRow | undefined {
    const rows = this.#namespaces.get(namespace);
    const row = checkpointId === undefined ? rows?.newest : rows?.heads.get(checkpointId);
    return row && { ...row, data: copyOf(row.data) };
  }

  /** Newest first. */
  heads({ namespace, checkpointId, below = Number.POSITIVE_INFINITY }: HeadQuery): HeadRow[] {
    return [...this.#namespaces]
      .filter(([name]) => namespace === undefined || name === namespace)
      .flatMap(([, { heads }]) => [...heads.values()])
      .filter(
        (row) => row.sequence < below && (checkpointId === undefined || row.checkpointId === checkpointId),
      )
      .sort((a, b) => b.sequence - a.sequence);
  }

  writes({ namespace, checkpointId }: HeadAddress, channels?: readonly string[]): WriteRow[] {
    const rows = this.#namespaces.get(namespace)?.writes.get(checkpointId);
    return [...(rows?.values() ?? [])]
      .filter((row) => channels === undefined || channels.includes(row.channel))
      .map((row) => ({ ...row, data: copyOf(row.data) }));
  }

  values(namespace: string, keys: readonly ValueKey[]): (Uint8Array | undefined)[] {
    const values = this.#namespaces.get(namespace)?.values;
    return keys.map(({ channel, version }) => copyOf(values?.get(idOf(channel, version))?.data));
  }

  chunks(hashes: readonly string[]): Map<string, Uint8Array> {
    const found = new Map<string, Uint8Array>();
    for (const hash of hashes) {
      const data = this.#chunks.get(hash);
      if (data) found.set(hash, copyOf(data));
    }
    return found;
  }

  summary(): ThreadRow | undefined {
    const heads = this.heads({});
    const latest = heads[0]?.checkpointId;
    if (latest === undefined) return undefined;
    return { threadId: this.threadId, checkpoints: heads.length, latestCheckpointId: latest };
  }

  /** Not copied. */
  rows(): Row[] {
    const { threadId } = this;
    const rows: Row[] = [];
    for (const [namespace, { heads, values, writes }] of this.#namespaces) {
      for (const row of heads.values()) rows.push({ kind: "head", ...row });
      for (const row of values.values()) rows.push({ kind: "value", threadId, namespace, ...row });
      for (const [checkpointId, of] of writes)
        for (const row of of.values())
          rows.push({ kind: "write", threadId, namespace, checkpointId, ...row });
    }
    for (const [hash, data] of this.#chunks) rows.push({ kind: "chunk", threadId, hash, data });
    return rows;
  }

  #setHead(namespace: Namespace, row: HeadRow): void {
    namespace.heads.set(row.checkpointId, row);
    if (!namespace.newest || namespace.newest.sequence <= row.sequence) namespace.newest = row;
  }

  #namespace(name: string): Namespace {
    let namespace = this.#namespaces.get(name);
    if (!namespace) {
      namespace = { heads: new Map(), values: new Map(), writes: new Map(), newest: undefined };
      this.#namespaces.set(name, namespace);
    }
    return namespace;
  }
}

function putWrites({ checkpointId, rows }: NonNullable<Batch["writes"]>, { writes }: Namespace): void {
  const present = writes.get(checkpointId) ?? new Map<string, WriteRow>();
  writes.set(checkpointId, present);
  for (const row of rows) {
    const id = idOf(row.taskId, String(row.index));
    if (row.index < 0 || !present.has(id)) present.set(id, { ...row, data: copyOf(row.data) });
  }
}

function newestOf(heads: ReadonlyMap<string, HeadRow>): HeadRow | undefined {
  let newest: HeadRow | undefined;
  for (const row of heads.values()) if (!newest || row.sequence > newest.sequence) newest = row;
  return newest;
}

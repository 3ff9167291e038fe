import { randomBytes } from "node:crypto";
import { type Deps, type EventSink, emitter } from "@longhaul/core";
import type {
  ArtifactTable,
  Batch,
  CommitResult,
  HeadAddress,
  HeadQuery,
  HeadRow,
  RecordTable,
  Row,
  RowKind,
  StorageDriver,
  Sweep,
  ThreadRow,
  ThreadState,
  ValueKey,
  WriteRow,
} from "../driver/driver.ts";
import { DamagedRecordError } from "../errors.ts";
import { describeTarget } from "../target.ts";
import { packed, unpacked } from "./packed.ts";
import { RedisArtifacts } from "./redis-artifacts.ts";
import { RedisConnection, type Send, type ServerSettings } from "./redis-connection.ts";
import { idOf, nameThread, ownerOf, RedisKeys } from "./redis-keys.ts";
import { RedisRecords } from "./redis-records.ts";

export interface RedisDriverOptions {
  readonly url: string;
  /** Before every key. @default "longhaul" */
  readonly keyPrefix?: string | undefined;
  /** Milliseconds that a write is tried anew while other processes change the same thread. */
  readonly busyWaitMs: number;
  /** Milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number | undefined;
  /** Milliseconds after which a server that does not answer is taken for gone. @default 30_000 */
  readonly commandTimeoutMs?: number | undefined;
  readonly events?: EventSink | undefined;
  readonly deps: Pick<Deps, "clock">;
}

interface Meta {
  readonly life: string;
  readonly revision: number;
  readonly swept: number;
}

type Command = readonly (string | Buffer)[];

/** Heads read at once; one may have tens of kilobytes. */
const HEADS_PAGE = 40;
const SCAN_PAGE = "200";

/**
 * Hashes and sorted sets, a group of keys for each thread. A commit is one MULTI under WATCH. What survives a power loss, or even the server's
 * end, is what the server was configured for: without an append-only file that is synced always, an event says so.
 */
export class RedisDriver implements StorageDriver {
  readonly target: string;
  readonly survivesProcess = true;
  readonly leases = true;
  readonly maxBlobBytes = 500_000_000;
  readonly records: RecordTable;
  readonly artifacts: ArtifactTable;
  readonly #prefix: string;
  readonly #connection: RedisConnection;
  readonly #records: RedisRecords;
  readonly #artifacts: RedisArtifacts;
  readonly #options: RedisDriverOptions;
  #powerLoss: "all" | "none" = "none";
  #warned = false;

  constructor(options: RedisDriverOptions) {
    const {
      url,
      keyPrefix = "longhaul",
      busyWaitMs,
      connectTimeoutMs = 10_000,
      commandTimeoutMs = 30_000,
    } = options;
    this.#options = options;
    this.#prefix = keyPrefix;
    this.target = describeTarget({ kind: "redis", url });
    this.#connection = new RedisConnection({
      url,
      target: this.target,
      busyWaitMs,
      connectTimeoutMs,
      commandTimeoutMs,
      monotonic: () => options.deps.clock.monotonic(),
      onConnect: (settings) => this.#onConnect(settings),
    });
    this.#records = new RedisRecords(this.#connection, this.#prefix, options.deps.clock);
    this.#artifacts = new RedisArtifacts(this.#connection, this.#prefix);
    this.records = this.#records;
    this.artifacts = this.#artifacts;
  }

  /** Known after the first call. */
  get powerLoss(): "all" | "none" {
    return this.#powerLoss;
  }

  open(): Promise<void> {
    return this.#connection.open();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async thread(threadId: string): Promise<ThreadState | undefined> {
    const meta = await this.#connection.run((send) => this.#meta(send, threadId));
    return meta && { era: eraOf(meta), revision: revisionOf(meta) };
  }

  async commit(batch: Batch): Promise<CommitResult> {
    const { threadId, namespace, head, values, chunks, writes, guard, era, isSame } = batch;
    const keys = this.#keys(threadId);
    const guardKeys = guard ? [new RedisKeys(this.#prefix, ownerOf(guard.key)).records] : [];
    return this.#connection.transact<CommitResult>([keys.meta, ...guardKeys], async (send) => {
      const answer = (result: CommitResult) => ({ commands: [], result });
      if (guard && !guard.allows((await this.#records.read(send, guard.key))?.data))
        return answer({ ok: false, reason: "refused" });
      const known = await this.#meta(send, threadId);
      if (era !== undefined && (!known || eraOf(known) !== era))
        return answer({ ok: false, reason: "stale" });
      const stored =
        values.length === 0
          ? []
          : await many(
              send,
              keys.values,
              values.map((row) => valueField(namespace, row)),
            );
      for (const [i, { channel, version, data }] of values.entries()) {
        const present = stored[i];
        if (present && Buffer.compare(present, data) !== 0 && !isSame({ channel, version }, present, data))
          return answer({ ok: false, reason: "conflict", key: { channel, version } });
      }
      const meta: Meta = {
        life: known?.life ?? randomBytes(8).toString("hex"),
        revision: (known?.revision ?? 0) + 1,
        swept: known?.swept ?? 0,
      };
      const commands: Command[] = [
        ["HSET", keys.meta, "life", meta.life, "revision", `${meta.revision}`, "swept", `${meta.swept}`],
      ];
      for (const { hash, data } of chunks) commands.push(["HSETNX", keys.chunks, hash, toBuffer(data)]);
      for (const row of values)
        commands.push(["HSETNX", keys.values, valueField(namespace, row), toBuffer(row.data)]);
      if (writes) commands.push(...putWrites(keys, namespace, writes));
      let sibling: string | undefined;
      if (head) {
        const id = idOf(namespace, head.checkpointId);
        const newest = await this.#newest(send, keys, namespace);
        const sequence = (await headFields(send, keys, id))?.sequence ?? meta.revision;
        commands.push(["HSET", keys.heads, id, packed([head.parentId ?? null, sequence], head.data)]);
        commands.push(["ZADD", keys.order, `${sequence}`, id]);
        if (newest !== head.parentId && newest !== head.checkpointId) sibling = newest;
      }
      // before the thread has anything: a name without checkpoints is not listed, a checkpoint without its name would never be
      if (!known) await this.#nameThread(send, threadId);
      return { commands, result: { ok: true, era: eraOf(meta), sibling } };
    });
  }

  sweep(sweep: Sweep): Promise<"done" | "changed"> {
    const keys = this.#keys(sweep.threadId);
    return this.#connection.transact<"done" | "changed">([keys.meta], async (send) => {
      const meta = await this.#meta(send, sweep.threadId);
      if (!meta || revisionOf(meta) !== sweep.revision) return { commands: [], result: "changed" };
      const commands: Command[] = [
        ["HSET", keys.meta, "revision", `${meta.revision + 1}`, "swept", `${meta.swept + 1}`],
      ];
      for (const { namespace, checkpointId } of sweep.heads) {
        const id = idOf(namespace, checkpointId);
        const writes = keys.writes(namespace, checkpointId);
        commands.push(
          ["HDEL", keys.heads, id],
          ["ZREM", keys.order, id],
          ["UNLINK", writes],
          ["SREM", keys.writeKeys, id],
        );
      }
      for (const row of sweep.values) commands.push(["HDEL", keys.values, valueField(row.namespace, row)]);
      for (const hash of sweep.chunks) commands.push(["HDEL", keys.chunks, hash]);
      for (const { namespace, checkpointId, parentId, data } of sweep.rewritten) {
        const id = idOf(namespace, checkpointId);
        const old = await headFields(send, keys, id);
        if (old) commands.push(["HSET", keys.heads, id, packed([parentId ?? null, old.sequence], data)]);
      }
      return { commands, result: "done" };
    });
  }

  async deleteThread(
    threadId: string,
    raise: (generation: Uint8Array | undefined) => Uint8Array,
  ): Promise<void> {
    const keys = this.#keys(threadId);
    const key = { collection: "generations", thread: "", key: threadId };
    await this.#connection.transact([keys.meta, keys.records, keys.artifacts], async (send) => {
      const generation = await this.#records.read(send, key);
      const data = raise(generation?.data);
      await nameThread(send, this.#prefix, threadId);
      const records = await this.#records.keysOf(send, threadId);
      const gone = records.filter((record) => record.thread === threadId && record.collection !== "leases");
      const writes = ((await send("SMEMBERS", keys.writeKeys)) as readonly Buffer[]).map((id) => {
        const [namespace, checkpointId] = JSON.parse(String(id)) as [string, string];
        return keys.writes(namespace, checkpointId);
      });
      const { meta, heads, order, values, chunks, writeKeys, artifacts, artifactOrder } = keys;
      const commands: Command[] = [
        ["UNLINK", meta, heads, order, values, chunks, writeKeys, artifacts, artifactOrder],
        ...writes.map((name) => ["UNLINK", name]),
        ...gone.flatMap((record) => this.#records.remove(record)),
        ...this.#records.put({ key, version: (generation?.version ?? 0) + 1, expiresAt: undefined, data }),
      ];
      return { commands, result: undefined };
    });
  }

  head(threadId: string, namespace: string, checkpointId?: string): Promise<HeadRow | undefined> {
    const keys = this.#keys(threadId);
    return this.#connection.run(async (send) => {
      const id = checkpointId ?? (await this.#newest(send, keys, namespace));
      if (id === undefined) return undefined;
      const value = (await send("HGET", keys.heads, idOf(namespace, id))) as Buffer | null;
      return value === null ? undefined : headOf(threadId, namespace, id, value);
    });
  }

  async *heads(query: HeadQuery): AsyncIterable<HeadRow> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    for (const threadId of query.threadId === undefined ? await this.#threadIds() : [query.threadId]) {
      const keys = this.#keys(threadId);
      let below = query.below ?? Number.MAX_SAFE_INTEGER;
      for (;;) {
        if (left <= 0) return;
        const bound = below;
        const page = await this.#connection.run(async (send) => {
          const ids = (await send(
            "ZREVRANGEBYSCORE",
            keys.order,
            `(${bound}`,
            "-inf",
            "LIMIT",
            "0",
            String(HEADS_PAGE),
          )) as readonly Buffer[];
          const addresses = ids.map(
            (id) => JSON.parse(String(id)) as [namespace: string, checkpointId: string],
          );
          const found =
            ids.length === 0
              ? []
              : await many(
                  send,
                  keys.heads,
                  addresses.map((address) => idOf(...address)),
                );
          return addresses.map(([namespace, checkpointId], i) => {
            const value = found[i];
            if (value) return headOf(threadId, namespace, checkpointId, value);
            const place = { threadId, namespace, checkpointId };
            throw new DamagedRecordError({
              reason: "it stands in the order of checkpoints, but is not there",
              place,
            });
          });
        });
        for (const row of page) {
          below = row.sequence;
          if (query.namespace !== undefined && row.namespace !== query.namespace) continue;
          if (query.checkpointId !== undefined && row.checkpointId !== query.checkpointId) continue;
          if (left <= 0) return;
          left -= 1;
          yield row;
        }
        if (page.length < HEADS_PAGE) break;
      }
    }
  }

  writes(address: HeadAddress, channels?: readonly string[]): Promise<WriteRow[]> {
    const key = this.#keys(address.threadId).writes(address.namespace, address.checkpointId);
    return this.#connection.run(async (send) => {
      const flat = (await send("HGETALL", key)) as readonly Buffer[];
      return writesOf(flat).filter((row) => channels === undefined || channels.includes(row.channel));
    });
  }

  values(
    threadId: string,
    namespace: string,
    keys: readonly ValueKey[],
  ): Promise<(Uint8Array | undefined)[]> {
    return this.#connection.run((send) =>
      keys.length === 0
        ? Promise.resolve([])
        : many(
            send,
            this.#keys(threadId).values,
            keys.map((key) => valueField(namespace, key)),
          ),
    );
  }

  chunks(threadId: string, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    return this.#connection.run(async (send) => {
      const found = hashes.length === 0 ? [] : await many(send, this.#keys(threadId).chunks, hashes);
      const chunks = new Map<string, Uint8Array>();
      for (const [i, hash] of hashes.entries()) {
        const data = found[i];
        if (data) chunks.set(hash, data);
      }
      return chunks;
    });
  }

  async *threads(): AsyncIterable<ThreadRow> {
    for (const threadId of await this.#threadIds()) {
      const { order } = this.#keys(threadId);
      const row = await this.#connection.run(async (send) => {
        const checkpoints = Number(await send("ZCARD", order));
        const [newest] = (await send("ZREVRANGE", order, "0", "0")) as readonly Buffer[];
        return newest && { checkpoints, id: JSON.parse(String(newest)) as [string, string] };
      });
      if (row) yield { threadId, checkpoints: row.checkpoints, latestCheckpointId: row.id[1] };
    }
  }

  async *rows(threadId?: string, kinds?: readonly RowKind[]): AsyncIterable<Row> {
    const wants = (kind: RowKind) => kinds === undefined || kinds.includes(kind);
    for (const id of threadId === undefined ? await this.#threadIds() : [threadId]) {
      const keys = this.#keys(id);
      if (wants("head")) for await (const row of this.heads({ threadId: id })) yield { kind: "head", ...row };
      if (wants("value")) {
        for await (const [field, data] of this.#scan(keys.values)) {
          const [namespace, channel, version] = JSON.parse(field) as [string, string, string];
          yield { kind: "value", threadId: id, namespace, channel, version, data };
        }
      }
      if (wants("write")) yield* this.#writeRows(id);
      if (wants("chunk"))
        for await (const [hash, data] of this.#scan(keys.chunks))
          yield { kind: "chunk", threadId: id, hash, data };
      if (wants("artifact"))
        for await (const row of this.#artifacts.all(id)) yield { kind: "artifact", threadId: id, ...row };
      if (wants("record")) {
        // the generation of a thread stands among its keys, and belongs to none
        for await (const row of this.#records.all(id))
          if (threadId === undefined || row.key.thread === threadId) yield { kind: "record", ...row };
      }
    }
    if (threadId === undefined && wants("record"))
      for await (const row of this.#records.all("")) yield { kind: "record", ...row };
  }

  async check(threadId?: string): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const id of threadId === undefined ? await this.#threadIds() : [threadId]) {
      const keys = this.#keys(id);
      const [heads, order, records, members, artifacts, refs] = await this.#connection.run(async (send) => [
        await send("HLEN", keys.heads),
        await send("ZCARD", keys.order),
        await send("HLEN", keys.records),
        await send("ZCARD", keys.recordOrder),
        await send("HLEN", keys.artifacts),
        await send("LLEN", keys.artifactOrder),
      ]);
      const name = JSON.stringify(id);
      if (heads !== order) problems.push(`thread ${name}: ${heads} checkpoints, ${order} in their order`);
      if (records !== members) problems.push(`thread ${name}: ${records} records, ${members} in their order`);
      if (artifacts !== refs) problems.push(`thread ${name}: ${artifacts} artifacts, ${refs} in their order`);
    }
    return problems;
  }

  async *#writeRows(threadId: string): AsyncIterable<Row> {
    const keys = this.#keys(threadId);
    const ids = (await this.#connection.run((send) => send("SMEMBERS", keys.writeKeys))) as readonly Buffer[];
    for (const id of ids) {
      const [namespace, checkpointId] = JSON.parse(String(id)) as [string, string];
      const address = { threadId, namespace, checkpointId };
      for (const row of await this.writes(address)) yield { kind: "write", ...address, ...row };
    }
  }

  /** Fields and values of a hash, each once; a scan may give some twice. */
  async *#scan(key: string): AsyncIterable<[field: string, data: Uint8Array]> {
    const seen = new Set<string>();
    for (let cursor = "0"; ; ) {
      const from = cursor;
      const [next, flat] = (await this.#connection.run((send) =>
        send("HSCAN", key, from, "COUNT", SCAN_PAGE),
      )) as [Buffer, readonly Buffer[]];
      for (let i = 0; i < flat.length; i += 2) {
        const field = String(flat[i]);
        if (seen.has(field)) continue;
        seen.add(field);
        yield [field, flat[i + 1] as Buffer];
      }
      cursor = String(next);
      if (cursor === "0") return;
    }
  }

  /** The newest head of a namespace. Heads of other namespaces stand between, so it may take a few looks. */
  async #newest(send: Send, keys: RedisKeys, namespace: string): Promise<string | undefined> {
    for (let start = 0; ; start += HEADS_PAGE) {
      const ids = (await send(
        "ZREVRANGE",
        keys.order,
        `${start}`,
        `${start + HEADS_PAGE - 1}`,
      )) as readonly Buffer[];
      for (const id of ids) {
        const [of, checkpointId] = JSON.parse(String(id)) as [string, string];
        if (of === namespace) return checkpointId;
      }
      if (ids.length < HEADS_PAGE) return undefined;
    }
  }

  async #meta(send: Send, threadId: string): Promise<Meta | undefined> {
    const [life, revision, swept] = await many(send, this.#keys(threadId).meta, [
      "life",
      "revision",
      "swept",
    ]);
    return life && { life: String(life), revision: Number(String(revision)), swept: Number(String(swept)) };
  }

  async #nameThread(send: Send, threadId: string): Promise<void> {
    // a thread of a new life is a new one; of two that come at once both give a later number
    const number = Number(await send("INCR", `${this.#prefix}:born`));
    await send("ZADD", `${this.#prefix}:threads`, String(number), threadId);
  }

  async #threadIds(): Promise<string[]> {
    const ids = (await this.#connection.run((send) =>
      send("ZRANGE", `${this.#prefix}:threads`, "0", "-1"),
    )) as readonly Buffer[];
    return ids.map(String);
  }

  #onConnect({ appendonly, appendfsync, maxmemoryPolicy }: ServerSettings): void {
    const isSynced = appendonly === "yes" && appendfsync === "always";
    const evicts = maxmemoryPolicy !== undefined && maxmemoryPolicy !== "noeviction";
    this.#powerLoss = isSynced && !evicts ? "all" : "none";
    if (this.#powerLoss === "all" || this.#warned) return;
    this.#warned = true;
    const { events, deps } = this.#options;
    const reason = evicts
      ? `maxmemory-policy is ${maxmemoryPolicy}: the server may drop data when it is full; set noeviction`
      : `appendonly is ${appendonly ?? "unknown"}, appendfsync ${appendfsync ?? "unknown"}: effects may be forgotten when the server ends; set "yes" and "always"`;
    emitter(events, () => ({ time: deps.clock.now(), threadId: "", namespace: "" }))({
      type: "storage.volatile",
      target: this.target,
      reason,
    });
  }

  #keys(threadId: string): RedisKeys {
    return new RedisKeys(this.#prefix, threadId);
  }
}

function putWrites(
  keys: RedisKeys,
  namespace: string,
  { checkpointId, rows }: NonNullable<Batch["writes"]>,
): Command[] {
  if (rows.length === 0) return [];
  const key = keys.writes(namespace, checkpointId);
  const commands: Command[] = [["SADD", keys.writeKeys, idOf(namespace, checkpointId)]];
  for (const { taskId, index, taskPath, channel, data } of rows)
    commands.push([
      index < 0 ? "HSET" : "HSETNX",
      key,
      idOf(taskId, `${index}`),
      packed([taskPath, channel], data),
    ]);
  return commands;
}

function writesOf(flat: readonly Buffer[]): WriteRow[] {
  const rows: WriteRow[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const [taskId, index] = JSON.parse(String(flat[i])) as [string, string];
    const { fields, data } = unpacked<[string, string]>(flat[i + 1] as Buffer);
    rows.push({ taskId, index: Number(index), taskPath: fields[0], channel: fields[1], data });
  }
  return rows;
}

async function many(send: Send, key: string, fields: readonly string[]): Promise<(Buffer | undefined)[]> {
  const found = (await send("HMGET", key, ...fields)) as readonly (Buffer | null)[];
  return found.map((value) => value ?? undefined);
}

async function headFields(
  send: Send,
  keys: RedisKeys,
  id: string,
): Promise<{ readonly sequence: number } | undefined> {
  const score = (await send("ZSCORE", keys.order, id)) as Buffer | number | null;
  return score === null ? undefined : { sequence: Number(String(score)) };
}

function headOf(threadId: string, namespace: string, checkpointId: string, value: Buffer): HeadRow {
  const { fields, data } = unpacked<[string | null, number]>(value);
  return { threadId, namespace, checkpointId, parentId: fields[0] ?? undefined, sequence: fields[1], data };
}

function valueField(namespace: string, { channel, version }: ValueKey): string {
  return idOf(namespace, channel, version);
}

function toBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function eraOf({ life, swept }: Meta): string {
  return `${life}.${swept}`;
}

function revisionOf({ life, revision }: Meta): string {
  return `${life}.${revision}`;
}

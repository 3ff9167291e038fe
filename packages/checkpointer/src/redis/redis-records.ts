import { randomInt } from "node:crypto";
import type { Clock, RecordKey } from "@longhaul/core";
import type { RecordRow, RecordTable } from "../driver/driver.ts";
import { packed, unpacked } from "./packed.ts";
import type { RedisConnection, Send } from "./redis-connection.ts";
import { idOf, nameThread, ownerOf, RedisKeys, recordMember } from "./redis-keys.ts";

const PAGE = 200;

/** Ledger records. Their expiry is not Redis's own: a version must never come twice under its key. */
export class RedisRecords implements RecordTable {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #clock: Pick<Clock, "now">;

  constructor(connection: RedisConnection, prefix: string, clock: Pick<Clock, "now">) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#clock = clock;
  }

  get(key: RecordKey): Promise<RecordRow | undefined> {
    return this.#connection.run(async (send) => this.#live(await this.read(send, key)));
  }

  compareAndSet(
    key: RecordKey,
    expected: number | null,
    { data, expiresAt }: Pick<RecordRow, "data" | "expiresAt">,
  ): ReturnType<RecordTable["compareAndSet"]> {
    const keys = this.#keys(key);
    return this.#connection.transact<Awaited<ReturnType<RecordTable["compareAndSet"]>>>(
      [keys.records],
      async (send) => {
        const stored = await this.read(send, key);
        const current = this.#live(stored);
        if ((current?.version ?? null) !== expected) return { commands: [], result: { ok: false, current } };
        const version = stored ? stored.version + 1 : randomInt(1, 2 ** 40);
        if (!stored) await nameThread(send, this.#prefix, ownerOf(key));
        return { commands: this.put({ key, version, expiresAt, data }), result: { ok: true, version } };
      },
    );
  }

  delete(key: RecordKey, expected?: number): Promise<boolean> {
    const keys = this.#keys(key);
    return this.#connection.transact([keys.records], async (send) => {
      const current = this.#live(await this.read(send, key));
      if (!current || (expected !== undefined && current.version !== expected))
        return { commands: [], result: false };
      return { commands: this.remove(key), result: true };
    });
  }

  async *list(collection: string, thread: string, prefix: string): AsyncIterable<RecordRow> {
    const keys = new RedisKeys(this.#prefix, thread);
    const start = recordMember({ collection, key: prefix });
    for (let from = `[${start}`; ; ) {
      const after = from;
      const page = await this.#connection.run(async (send) => {
        const members = (await send(
          "ZRANGEBYLEX",
          keys.recordOrder,
          after,
          `(${collection}\u0001`,
          "LIMIT",
          "0",
          String(PAGE),
        )) as readonly Buffer[];
        const names = members.map((member) => member.toString("utf8"));
        const rows: (RecordRow | undefined)[] = [];
        for (const name of names)
          rows.push(await this.read(send, { collection, thread, key: name.slice(collection.length + 1) }));
        return { names, rows };
      });
      for (const row of page.rows) {
        if (!row?.key.key.startsWith(prefix)) continue;
        const live = this.#live(row);
        if (live) yield live;
      }
      const last = page.names.at(-1);
      // names with the prefix stand together from its first on
      if (last === undefined || page.names.length < PAGE || !last.startsWith(start)) return;
      from = `(${last}`;
    }
  }

  async purge(thread: string): Promise<number> {
    const keys = new RedisKeys(this.#prefix, thread);
    return this.#connection.transact([keys.records], async (send) => {
      const gone = (await this.all(send, thread)).filter(
        (row) => row.key.thread === thread && !this.#live(row),
      );
      return { commands: gone.flatMap((row) => this.remove(row.key)), result: gone.length };
    });
  }

  /** Expired or not. */
  async read(send: Send, key: RecordKey): Promise<RecordRow | undefined> {
    const value = (await send("HGET", this.#keys(key).records, fieldOf(key))) as Buffer | null;
    return value === null ? undefined : rowOf(key, value);
  }

  /** All that stand under a thread's keys, expired or not; its generation too. */
  async all(send: Send, owner: string): Promise<RecordRow[]> {
    const flat = (await send("HGETALL", new RedisKeys(this.#prefix, owner).records)) as readonly Buffer[];
    const rows: RecordRow[] = [];
    for (let i = 0; i < flat.length; i += 2) {
      const [collection, thread, key] = JSON.parse(String(flat[i])) as [string, string, string];
      rows.push(rowOf({ collection, thread, key }, flat[i + 1] as Buffer));
    }
    return rows;
  }

  /** The commands that write a record. */
  put({ key, version, expiresAt, data }: RecordRow): (readonly (string | Buffer)[])[] {
    const keys = this.#keys(key);
    return [
      ["HSET", keys.records, fieldOf(key), packed([version, expiresAt ?? null], data)],
      ["ZADD", keys.recordOrder, "0", recordMember(key)],
    ];
  }

  /** The commands that delete one. */
  remove(key: RecordKey): (readonly string[])[] {
    const keys = this.#keys(key);
    return [
      ["HDEL", keys.records, fieldOf(key)],
      ["ZREM", keys.recordOrder, recordMember(key)],
    ];
  }

  #keys(key: RecordKey): RedisKeys {
    return new RedisKeys(this.#prefix, ownerOf(key));
  }

  #live(row: RecordRow | undefined): RecordRow | undefined {
    return row && (row.expiresAt === undefined || row.expiresAt > this.#clock.now()) ? row : undefined;
  }
}

function fieldOf({ collection, thread, key }: RecordKey): string {
  return idOf(collection, thread, key);
}

function rowOf(key: RecordKey, value: Buffer): RecordRow {
  const { fields, data } = unpacked<[number, number | null]>(value);
  return { key: { ...key }, version: fields[0], expiresAt: fields[1] ?? undefined, data };
}

import { randomInt } from "node:crypto";
import type { Clock, RecordKey } from "@longhaul/core";
import type { RecordRow, RecordTable } from "../driver/driver.ts";
import { packed, unpacked } from "./packed.ts";
import type { RedisConnection, Send } from "./redis-connection.ts";
import { idOf, nameThread, ownerOf, RedisKeys, recordMember } from "./redis-keys.ts";

/** Names read at once; records are read one by one, since one may hold the result of a tool. */
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
      const members = (await this.#connection.run((send) =>
        send("ZRANGEBYLEX", keys.recordOrder, after, `(${collection}\u0001`, "LIMIT", "0", String(PAGE)),
      )) as readonly Buffer[];
      const names = members.map((member) => member.toString("utf8"));
      for (const name of names) {
        const key = name.slice(collection.length + 1);
        const row = key.startsWith(prefix) ? await this.get({ collection, thread, key }) : undefined;
        if (row) yield row;
      }
      const last = names.at(-1);
      // names with the prefix stand together from its first on
      if (last === undefined || names.length < PAGE || !last.startsWith(start)) return;
      from = `(${last}`;
    }
  }

  async purge(thread: string): Promise<number> {
    const keys = new RedisKeys(this.#prefix, thread);
    return this.#connection.transact([keys.records], async (send) => {
      const gone: RecordKey[] = [];
      for (const key of await this.keysOf(send, thread)) {
        const row = key.thread === thread ? await this.read(send, key) : undefined;
        if (row && !this.#live(row)) gone.push(key);
      }
      return { commands: gone.flatMap((key) => this.remove(key)), result: gone.length };
    });
  }

  /** Expired or not. */
  async read(send: Send, key: RecordKey): Promise<RecordRow | undefined> {
    const value = (await send("HGET", this.#keys(key).records, fieldOf(key))) as Buffer | null;
    return value === null ? undefined : rowOf(key, value);
  }

  /** Of all that stand under a thread's keys, expired or not; its generation too. */
  async keysOf(send: Send, owner: string): Promise<RecordKey[]> {
    const fields = (await send("HKEYS", new RedisKeys(this.#prefix, owner).records)) as readonly Buffer[];
    return fields.map((field) => {
      const [collection, thread, key] = JSON.parse(String(field)) as [string, string, string];
      return { collection, thread, key };
    });
  }

  /** The same, one by one. */
  async *all(owner: string): AsyncIterable<RecordRow> {
    for (const key of await this.#connection.run((send) => this.keysOf(send, owner))) {
      const row = await this.#connection.run((send) => this.read(send, key));
      if (row) yield row;
    }
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

import type { ArtifactRow, ArtifactTable } from "../driver/driver.ts";
import { packed, unpacked } from "./packed.ts";
import type { RedisConnection, Send } from "./redis-connection.ts";
import { nameThread, RedisKeys } from "./redis-keys.ts";

const PAGE = 50;

export class RedisArtifacts implements ArtifactTable {
  readonly #connection: RedisConnection;
  readonly #prefix: string;

  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  put(threadId: string, { ref, chars, meta, data }: ArtifactRow): Promise<boolean> {
    const keys = new RedisKeys(this.#prefix, threadId);
    const value = packed([chars, Buffer.from(meta).toString("base64")], data);
    return this.#connection.transact<boolean>([keys.artifacts], async (send) => {
      if ((await send("HEXISTS", keys.artifacts, ref)) === 1) return { commands: [], result: false };
      await nameThread(send, this.#prefix, threadId);
      return {
        commands: [
          ["HSET", keys.artifacts, ref, value],
          ["RPUSH", keys.artifactOrder, ref],
        ],
        result: true,
      };
    });
  }

  get(threadId: string, ref: string): Promise<ArtifactRow | undefined> {
    return this.#connection.run((send) => this.#one(send, threadId, ref));
  }

  async *list(threadId: string): AsyncIterable<Omit<ArtifactRow, "data">> {
    for await (const { data: _, ...row } of this.all(threadId)) yield row;
  }

  /** Oldest first. */
  async *all(threadId: string): AsyncIterable<ArtifactRow> {
    const keys = new RedisKeys(this.#prefix, threadId);
    for (let start = 0; ; start += PAGE) {
      const from = start;
      const refs = (await this.#connection.run((send) =>
        send("LRANGE", keys.artifactOrder, String(from), String(from + PAGE - 1)),
      )) as readonly Buffer[];
      for (const ref of refs) {
        const row = await this.get(threadId, ref.toString("utf8"));
        if (row) yield row;
      }
      if (refs.length < PAGE) return;
    }
  }

  async #one(send: Send, threadId: string, ref: string): Promise<ArtifactRow | undefined> {
    const value = (await send("HGET", new RedisKeys(this.#prefix, threadId).artifacts, ref)) as Buffer | null;
    if (value === null) return undefined;
    const { fields, data } = unpacked<[number, string]>(value);
    return { ref, chars: fields[0], meta: Buffer.from(fields[1], "base64"), data };
  }
}

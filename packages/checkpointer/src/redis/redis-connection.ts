import { MissingPeerError } from "@longhaul/core";
import type { RedisClientType } from "redis";
import {
  StorageBusyError,
  StorageClosedError,
  StorageConnectionError,
  StorageWriteError,
  UnreadableTargetError,
} from "../errors.ts";
import { SerialQueue } from "../serial-queue.ts";

export interface RedisConnectionOptions {
  readonly url: string;
  readonly target: string;
  readonly busyWaitMs: number;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly monotonic: () => number;
  /** Told once for each connection how the server keeps its data; undefined where it does not say. */
  readonly onConnect: (settings: ServerSettings) => void;
}

export interface ServerSettings {
  readonly appendonly?: string | undefined;
  readonly appendfsync?: string | undefined;
  readonly maxmemoryPolicy?: string | undefined;
}

type Argument = string | Buffer;
export type Reply = Buffer | number | null | readonly Reply[];
/** Sends one command; texts come back as bytes. */
export type Send = (...command: readonly Argument[]) => Promise<Reply>;

/** Commands of one transaction, or an answer that makes it needless. */
export type Plan<T> = { readonly commands: readonly (readonly Argument[])[]; readonly result: T };

/** Between commands of one driver nothing of it comes in between: one connection, one queue. */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #queue = new SerialQueue();
  #client: RedisClientType | undefined;
  #blobs: { readonly typeMapping: Record<number, unknown> } | undefined;
  #closed = false;

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await this.run(async () => undefined);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.idle();
    const client = this.#client;
    this.#client = undefined;
    if (client?.isOpen) await client.close();
  }

  run<T>(job: (send: Send) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StorageClosedError());
    return this.#queue.run(async () => {
      const client = await this.#connected();
      return job((...command) => this.#send(client, command));
    });
  }

  /**
   * Reads and writes as one: when a watched key changed between what `plan` read and its commands, it is asked again. What it throws ends
   * the call with nothing written.
   *
   * @throws StorageBusyError after `busyWaitMs` of changes by others
   */
  transact<T>(watched: readonly string[], plan: (send: Send) => Promise<Plan<T>>): Promise<T> {
    if (this.#closed) return Promise.reject(new StorageClosedError());
    const { target, busyWaitMs, monotonic } = this.#options;
    return this.#queue.run(async () => {
      const client = await this.#connected();
      const start = monotonic();
      for (;;) {
        await this.#timed(client, client.watch([...watched]));
        let planned: Plan<T>;
        try {
          planned = await plan((...command) => this.#send(client, command));
        } catch (error) {
          if (client.isReady) await this.#timed(client, client.unwatch());
          throw error;
        }
        if (planned.commands.length === 0) {
          await this.#timed(client, client.unwatch());
          return planned.result;
        }
        const multi = client.multi();
        for (const command of planned.commands) multi.addCommand([...command]);
        if (await this.#timed(client, multi.exec().then(isDone, isChanged))) return planned.result;
        const waitedMs = monotonic() - start;
        if (waitedMs > busyWaitMs) throw new StorageBusyError({ target, waitedMs });
      }
    });
  }

  #send(client: RedisClientType, command: readonly Argument[]): Promise<Reply> {
    return this.#timed(client, client.sendCommand([...command], this.#blobs as never) as Promise<Reply>);
  }

  /** A server that does not answer in time is taken for gone: its late answer must not meet the next question. */
  async #timed<T>(client: RedisClientType, answer: Promise<T>): Promise<T> {
    const { commandTimeoutMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        client.destroy();
        reject(new Error(`Socket timeout: no answer within ${commandTimeoutMs} ms`));
      }, commandTimeoutMs);
    });
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      throw this.#translate(error);
    } finally {
      clearTimeout(timer);
      answer.catch(() => undefined);
    }
  }

  async #connected(): Promise<RedisClientType> {
    if (this.#client?.isReady) return this.#client;
    const { url, connectTimeoutMs, onConnect } = this.#options;
    const { createClient, RESP_TYPES } = await loadRedis();
    this.#client?.destroy();
    this.#blobs = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
    const client = createClient({
      url,
      // hashes as flat lists
      RESP: 2,
      disableOfflineQueue: true,
      // the next call connects anew
      socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false },
    }) as unknown as RedisClientType;
    // reported by the call under way
    client.on("error", () => undefined);
    await this.#timed(client, client.connect());
    this.#client = client;
    onConnect(await this.#settings(client));
    return client;
  }

  /** Servers that are not ours to configure may forbid the question. */
  async #settings(client: RedisClientType): Promise<ServerSettings> {
    const one = async (name: string): Promise<string | undefined> => {
      try {
        const answer = (await this.#send(client, ["CONFIG", "GET", name])) as readonly Buffer[];
        return answer[1]?.toString();
      } catch {
        return undefined;
      }
    };
    return {
      appendonly: await one("appendonly"),
      appendfsync: await one("appendfsync"),
      maxmemoryPolicy: await one("maxmemory-policy"),
    };
  }

  #translate(error: unknown): unknown {
    const { target } = this.#options;
    if (!(error instanceof Error)) return error;
    const { message } = error;
    const code = (error as { code?: unknown }).code;
    if (/^OOM/.test(message)) return new StorageWriteError({ target, reason: "full", cause: error });
    if (/^(READONLY|NOPERM)/.test(message))
      return new StorageWriteError({ target, reason: "read-only", cause: error });
    if (/^MISCONF/.test(message)) return new StorageWriteError({ target, reason: "io", cause: error });
    if (/^(NOAUTH|WRONGPASS|WRONGTYPE|ERR invalid password|ERR Client sent AUTH)/.test(message))
      return new UnreadableTargetError({ target, reason: message, cause: error });
    const isGone =
      /socket|connection|closed|offline|LOADING|timeout/i.test(`${error.name} ${message}`) ||
      (typeof code === "string" && /^E(CONN|PIPE|HOST|NET|AI|NOTFOUND|TIMEDOUT)/.test(code)) ||
      error instanceof AggregateError;
    return isGone ? new StorageConnectionError({ target, reason: reasonOf(error), cause: error }) : error;
  }
}

function isDone(): boolean {
  return true;
}

/** Whether a transaction was not made because a watched key changed; any other failure is thrown on. */
function isChanged(error: unknown): boolean {
  if (error instanceof Error && (error.name === "WatchError" || /watched keys/i.test(error.message)))
    return false;
  throw error;
}

async function loadRedis() {
  try {
    return await import("redis");
  } catch (cause) {
    throw new MissingPeerError({ packageName: "redis", neededFor: "A Redis checkpointer", cause });
  }
}

function reasonOf(error: Error): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message;
  return error.message === "" ? error.name : error.message;
}

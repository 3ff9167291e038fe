import { mkdtempSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactSaver } from "@longhaul/checkpointer";
import { type LonghaulStorage, memoryStorage } from "@longhaul/core";
import { pgClient, redisClient } from "../saver/native.ts";

export const STORAGES = ["memory", "sqlite", "postgres", "redis"] as const;
export type Storage = (typeof STORAGES)[number];

const POSTGRES = process.env.TEST_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/postgres";
const REDIS = process.env.TEST_REDIS_URL ?? "redis://127.0.0.1:6379";

/** A storage of its own, and a file that stands for the world. Fit to be handed to another process as JSON. */
export interface Place {
  readonly storage: Storage;
  readonly folder: string;
  /** File or URL; nothing in memory. */
  readonly target: string;
  /** Of the keys, on Redis. */
  readonly keyPrefix: string;
  /** One line for each effect. */
  readonly world: string;
}

let made = 0;

export function newPlace(storage: Storage): Place {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-effects-"));
  const name = `longhaul_effects_${process.pid}_${made++}`;
  return {
    storage,
    folder,
    target: targetOf(storage, folder, name),
    keyPrefix: name,
    world: join(folder, "world.txt"),
  };
}

function targetOf(storage: Storage, folder: string, name: string): string {
  switch (storage) {
    case "memory":
      return "";
    case "sqlite":
      return join(folder, "agent.db");
    case "redis":
      return REDIS;
    case "postgres": {
      const url = new URL(POSTGRES);
      url.searchParams.set("schema", name);
      return url.href;
    }
  }
}

/** A ledger's storage, and what closes it. In memory it is the default of all guards; elsewhere a saver. */
export function openStorage({ storage, target, keyPrefix }: Place): {
  readonly storage: LonghaulStorage;
  end(): Promise<void>;
} {
  if (storage === "memory") return { storage: memoryStorage(), end: async () => {} };
  const saver = CompactSaver.fromConnString(target, storage === "redis" ? { redis: { keyPrefix } } : {});
  return { storage: saver, end: () => saver.end() };
}

export async function removePlace({ storage, folder, keyPrefix }: Place): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  if (storage === "postgres") {
    const client = pgClient(POSTGRES);
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS "${keyPrefix}" CASCADE`).finally(() => client.end());
  }
  if (storage === "redis") {
    const client = redisClient(REDIS);
    await client.connect();
    for await (const keys of client.scanIterator({ MATCH: `${keyPrefix}*`, COUNT: 1_000 }))
      if (keys.length > 0) await client.unlink(keys);
    await client.close();
  }
}

/** Whether something listens where the storage's server should be. */
export function answers(storage: Storage): Promise<boolean> {
  if (storage === "memory" || storage === "sqlite") return Promise.resolve(true);
  const { hostname, port } = new URL(storage === "postgres" ? POSTGRES : REDIS);
  return new Promise((resolve) => {
    const socket = createConnection({
      host: hostname,
      port: Number(port || (storage === "postgres" ? 5432 : 6379)),
      timeout: 2_000,
    });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
    socket.once("timeout", () => done(false));
  });
}

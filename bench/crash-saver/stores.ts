import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StorageDriver } from "@longhaul/checkpointer";
import { systemDeps } from "@longhaul/core";
import { createClient } from "redis";
import { FileDriver } from "../../packages/checkpointer/src/file/file-driver.ts";
import { PostgresDriver } from "../../packages/checkpointer/src/postgres/postgres-driver.ts";
import { RedisDriver } from "../../packages/checkpointer/src/redis/redis-driver.ts";
import { SqliteDriver } from "../../packages/checkpointer/src/sqlite/sqlite-driver.ts";
import { pgClient } from "../saver/native.ts";

export const STORAGES = ["sqlite", "file", "postgres", "redis"] as const;
export type Storage = (typeof STORAGES)[number];

export interface Place {
  readonly storage: Storage;
  /** File, folder or URL. */
  readonly target: string;
  /** Of Postgres; of Redis the prefix of its keys. */
  readonly schema?: string;
  /** Folder for logs, and for the data where it is on disk. */
  readonly folder: string;
}

let made = 0;

/** Where the servers are. */
export interface Servers {
  readonly postgres: string;
  readonly redis: string;
}

export const SERVERS: Servers = {
  postgres: process.env.TEST_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/postgres",
  redis: process.env.TEST_REDIS_URL ?? "redis://127.0.0.1:6379",
};

export function newPlace(storage: Storage, servers: Servers): Place {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-crash-"));
  if (storage === "postgres" || storage === "redis")
    return { storage, target: servers[storage], schema: `longhaul_crash_${process.pid}_${made++}`, folder };
  return { storage, target: join(folder, storage === "sqlite" ? "agent.db" : "threads"), folder };
}

export function driverOf({ storage, target, schema }: Place): StorageDriver {
  const options = { busyWaitMs: 10_000, deps: systemDeps };
  if (storage === "sqlite") return new SqliteDriver({ ...options, path: target, readOnly: false });
  if (storage === "file") return new FileDriver({ ...options, path: target });
  if (storage === "redis") return new RedisDriver({ ...options, url: target, keyPrefix: schema });
  return new PostgresDriver({ ...options, url: target, schema, max: 2 });
}

export async function removePlace(place: Place): Promise<void> {
  const { storage, folder, target, schema } = place;
  rmSync(folder, { recursive: true, force: true });
  if (schema === undefined) return;
  if (storage === "redis") {
    const client = await createClient({ url: target }).connect();
    for await (const keys of client.scanIterator({ MATCH: `${schema}:*`, COUNT: 1_000 }))
      if (keys.length > 0) await client.unlink(keys);
    await client.close();
    return;
  }
  const client = pgClient(target);
  await client.connect();
  try {
    await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  } finally {
    await client.end();
  }
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StorageDriver } from "@longhaul/checkpointer";
import { systemDeps } from "@longhaul/core";
import { FileDriver } from "../../packages/checkpointer/src/file/file-driver.ts";
import { PostgresDriver } from "../../packages/checkpointer/src/postgres/postgres-driver.ts";
import { SqliteDriver } from "../../packages/checkpointer/src/sqlite/sqlite-driver.ts";
import { pgClient } from "../saver/native.ts";

export const STORAGES = ["sqlite", "file", "postgres"] as const;
export type Storage = (typeof STORAGES)[number];

export interface Place {
  readonly storage: Storage;
  /** File, folder or URL. */
  readonly target: string;
  readonly schema?: string;
  /** Folder for logs, and for the data where it is on disk. */
  readonly folder: string;
}

let made = 0;

export function newPlace(storage: Storage, postgres: string): Place {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-crash-"));
  if (storage === "postgres")
    return { storage, target: postgres, schema: `longhaul_crash_${process.pid}_${made++}`, folder };
  return { storage, target: join(folder, storage === "sqlite" ? "agent.db" : "threads"), folder };
}

export function driverOf({ storage, target, schema }: Place): StorageDriver {
  const options = { busyWaitMs: 10_000, deps: systemDeps };
  if (storage === "sqlite") return new SqliteDriver({ ...options, path: target, readOnly: false });
  if (storage === "file") return new FileDriver({ ...options, path: target });
  return new PostgresDriver({ ...options, url: target, schema, max: 2 });
}

export async function removePlace({ folder, target, schema }: Place): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  if (schema === undefined) return;
  const client = pgClient(target);
  await client.connect();
  try {
    await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  } finally {
    await client.end();
  }
}

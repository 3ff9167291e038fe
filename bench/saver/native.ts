import { createRequire } from "node:module";

/** What the bench needs of `pg`; its types belong to the packages that depend on them. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(sql: string): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  end(): Promise<void>;
}

/** What the bench needs of `better-sqlite3`. */
export interface SqliteFile {
  prepare(sql: string): {
    all(...values: readonly unknown[]): readonly Readonly<Record<string, unknown>>[];
    run(...values: readonly unknown[]): unknown;
  };
  exec(sql: string): unknown;
  pragma(source: string): unknown;
  close(): unknown;
}

/** What the bench needs of `redis`. */
export interface RedisClient {
  connect(): Promise<unknown>;
  scanIterator(options: { readonly MATCH: string; readonly COUNT: number }): AsyncIterable<string[]>;
  unlink(keys: readonly string[]): Promise<unknown>;
  close(): Promise<unknown>;
}

const require = createRequire(import.meta.url);

export function pgClient(url: string): PgClient {
  const { Client } = require("pg") as { Client: new (options: { connectionString: string }) => PgClient };
  return new Client({ connectionString: url });
}

export function redisClient(url: string): RedisClient {
  const { createClient } = require("redis") as { createClient: (options: { url: string }) => RedisClient };
  return createClient({ url });
}

export function sqliteFile(path: string, options: { readonly readonly?: boolean } = {}): SqliteFile {
  const Database = require("better-sqlite3") as new (path: string, options: object) => SqliteFile;
  return new Database(path, options);
}

/** Loads both, so that a later import costs nothing. */
export async function loadNative(): Promise<void> {
  const names: readonly string[] = ["better-sqlite3", "pg"];
  await Promise.all(names.map((name) => import(name)));
}

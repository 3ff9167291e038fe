import { CompactSaver, type CompactSaverOptions } from "@longhaul/checkpointer";
import { systemDeps } from "@longhaul/core";
import pg from "pg";
import { createClient } from "redis";
import { describe, onTestFinished } from "vitest";
import { MemoryDriver } from "../src/memory/memory-driver.ts";
import { describePostgres, describeRedis, POSTGRES_URL, REDIS_URL } from "./servers.ts";
import { open, tempFile } from "./temp.ts";

/** One storage; each call opens it anew, with nothing remembered, as another process would. */
export type Opener = (options?: CompactSaverOptions) => CompactSaver;

let made = 0;

function memory(): Opener {
  const driver = new MemoryDriver({ clock: systemDeps.clock });
  onTestFinished(() => driver.close());
  return (options) => new CompactSaver(driver, options);
}

function sqlite(): Opener {
  const path = tempFile();
  return (options) => open(path, options);
}

function files(): Opener {
  const folder = `file:${tempFile("threads")}`;
  return (options) => open(folder, options);
}

function postgres(): Opener {
  const schema = `longhaul_test_storages_${process.pid}_${made++}`;
  onTestFinished(async () => {
    const client = new pg.Client({ connectionString: POSTGRES_URL });
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await client.end();
  });
  const url = new URL(POSTGRES_URL);
  url.searchParams.set("schema", schema);
  return (options) => open(url.href, options);
}

function redis(): Opener {
  const keyPrefix = `longhaul-test-storages-${process.pid}-${made++}`;
  onTestFinished(async () => {
    const client = createClient({ url: REDIS_URL });
    await client.connect();
    for await (const keys of client.scanIterator({ MATCH: `${keyPrefix}:*`, COUNT: 1_000 }))
      if (keys.length > 0) await client.unlink(keys);
    await client.close();
  });
  return (options) => open(REDIS_URL, { ...options, redis: { keyPrefix } });
}

/** The same tests on every kind of storage; `fresh` gives each of them an empty one. */
export function onEachStorage(what: string, tests: (fresh: () => Opener) => void): void {
  describe(`${what} in memory`, () => tests(memory));
  describe(`${what} on SQLite`, () => tests(sqlite));
  describe(`${what} in a folder`, () => tests(files));
  describePostgres(`${what} on Postgres`, () => tests(postgres));
  describeRedis(`${what} on Redis`, () => tests(redis));
}

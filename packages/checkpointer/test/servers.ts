import { createConnection } from "node:net";
import { afterAll, describe } from "vitest";

/** Where the tests' servers are. Both keep their data apart by a schema or a prefix of its own for each test file. */
export const POSTGRES_URL = process.env.TEST_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/postgres";
export const REDIS_URL = process.env.TEST_REDIS_URL ?? "redis://127.0.0.1:6379";

/** `describe` where the server answers; else the tests are skipped, and one line says so. */
export const describePostgres = await describeFor("PostgreSQL", POSTGRES_URL, "TEST_POSTGRES_URL", 5432);
export const describeRedis = await describeFor("Redis", REDIS_URL, "TEST_REDIS_URL", 6379);

/** A schema that goes when the file's tests have ended. */
export function postgresSchema(name: string): { readonly url: string; readonly schema: string } {
  const schema = `longhaul_test_${name}_${process.pid}`;
  afterAll(async () => {
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: POSTGRES_URL });
    try {
      await client.connect();
      await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    } catch {
      // no server: there is nothing to drop
    } finally {
      await client.end().catch(() => undefined);
    }
  });
  const url = new URL(POSTGRES_URL);
  url.searchParams.set("schema", schema);
  return { url: url.href, schema };
}

/** A prefix of Redis's keys; what stands under it goes when the file's tests have ended. */
export function redisPrefix(name: string): string {
  const prefix = `longhaul-test-${name}-${process.pid}`;
  afterAll(async () => {
    const { createClient } = await import("redis");
    const client = createClient({ url: REDIS_URL, socket: { reconnectStrategy: false } });
    client.on("error", () => {});
    try {
      await client.connect();
      for await (const keys of client.scanIterator({ MATCH: `${prefix}:*`, COUNT: 1_000 }))
        if (keys.length > 0) await client.unlink(keys);
      await client.close();
    } catch {
      // no server: there is nothing to delete
    }
  });
  return prefix;
}

async function describeFor(name: string, url: string, variable: string, defaultPort: number) {
  const { hostname, port } = new URL(url);
  const answers = await canConnect(hostname, Number(port || defaultPort));
  if (!answers)
    process.stderr.write(
      `\nSKIPPED: no ${name} at ${hostname}:${port || defaultPort}; set ${variable} to run its tests\n`,
    );
  return describe.skipIf(!answers);
}

function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: 2_000 });
    const done = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
    socket.once("timeout", () => done(false));
  });
}

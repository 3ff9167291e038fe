import { storageDriverSuite } from "@longhaul/checkpointer/conformance";
import { systemClock } from "@longhaul/core";
import pg from "pg";
import { expect, it } from "vitest";
import { PostgresDriver } from "../src/postgres/postgres-driver.ts";
import { fakeTime, runner } from "./driver-runner.ts";
import { describePostgres, POSTGRES_URL, postgresSchema } from "./servers.ts";

const { url, schema } = postgresSchema("driver");

async function clean(): Promise<void> {
  const client = new pg.Client({ connectionString: POSTGRES_URL });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  await client.end();
}

describePostgres("PostgresDriver", () => {
  storageDriverSuite(
    "Postgres",
    async () => {
      await clean();
      const { clock, ...time } = fakeTime();
      const open = () => new PostgresDriver({ url, busyWaitMs: 5_000, max: 4, deps: { clock } });
      return { driver: open(), another: async () => open(), ...time };
    },
    runner,
  );

  it("a connection that was cut gives a retryable error or is replaced, and later calls go on", async () => {
    const driver = new PostgresDriver({ url, busyWaitMs: 5_000, deps: { clock: systemClock } });
    await driver.open();
    await driver.thread("t");
    const client = new pg.Client({ connectionString: POSTGRES_URL });
    await client.connect();
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE $1",
      [`%${schema}%`],
    );
    await client.end();
    expect(await driver.thread("t")).toBe(undefined);
    await driver.close();
  });

  it("no server is a retryable error that names the address without the password", async () => {
    const options = { busyWaitMs: 100, deps: { clock: systemClock } };
    const driver = new PostgresDriver({ url: "postgres://someone:secret@127.0.0.1:1/none", ...options });
    const error = await driver.thread("t").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "STORAGE_CONNECTION", retryable: true });
    expect(String(error)).toContain("127.0.0.1:1");
    expect(String(error)).not.toContain("secret");
    await driver.close();
  });

  it("only writes that ask wait for the server's disk", async () => {
    const driver = new PostgresDriver({ url, busyWaitMs: 5_000, max: 1, deps: { clock: systemClock } });
    const seen: string[] = [];
    const { Client } = pg;
    const original = Client.prototype.query;
    Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
      if (typeof args[0] === "string" && args[0].startsWith("BEGIN")) seen.push(args[0]);
      return (original as (...all: unknown[]) => unknown).apply(this, args);
    } as typeof original;
    try {
      await driver.open();
      seen.length = 0;
      const row = { data: new Uint8Array([1]), expiresAt: undefined };
      await driver.records.compareAndSet({ collection: "effects", thread: "d", key: "a" }, null, row, true);
      await driver.records.compareAndSet({ collection: "effects", thread: "d", key: "b" }, null, row, false);
    } finally {
      Client.prototype.query = original;
    }
    expect(seen).toEqual(["BEGIN", "BEGIN; SET LOCAL synchronous_commit = off"]);
    await driver.close();
  });

  it("the setting of one write does not reach the next on its connection", async () => {
    const options = {
      url,
      busyWaitMs: 5_000,
      statementTimeoutMs: 7_000,
      max: 1,
      deps: { clock: systemClock },
    };
    const driver = new PostgresDriver(options);
    const settings: unknown[] = [];
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
      const run = (...all: unknown[]) => (query as (...all: unknown[]) => unknown).apply(this, all);
      if (args[0] === "COMMIT") {
        const names = ["synchronous_commit", "statement_timeout", "lock_timeout"];
        const answer = (await run(
          `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join(", ")}`,
        )) as pg.QueryResult;
        settings.push(answer.rows[0]);
      }
      return run(...args);
    } as typeof query;
    try {
      await driver.open();
      settings.length = 0;
      const row = { data: new Uint8Array([1]), expiresAt: undefined };
      for (const [key, durable] of [
        ["a", false],
        ["b", true],
      ] as const)
        await driver.records.compareAndSet({ collection: "effects", thread: "s", key }, null, row, durable);
    } finally {
      pg.Client.prototype.query = query;
    }
    const timeouts = { statement_timeout: "7s", lock_timeout: "5s" };
    expect(settings).toEqual([
      { synchronous_commit: "off", ...timeouts },
      { synchronous_commit: "on", ...timeouts },
    ]);
    await driver.close();
  });
});

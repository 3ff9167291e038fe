import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { systemClock } from "@longhaul/core";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import type { Batch } from "../src/driver/driver.ts";
import { PostgresDriver } from "../src/postgres/postgres-driver.ts";
import { describePostgres, POSTGRES_URL, postgresSchema } from "./servers.ts";

const { url, schema } = postgresSchema("failures");

function open(options: { busyWaitMs?: number; statementTimeoutMs?: number; url?: string } = {}) {
  const driver = new PostgresDriver({ url, busyWaitMs: 10_000, deps: { clock: systemClock }, ...options });
  onTestFinished(() => driver.close());
  return driver;
}

/** Another client, which holds locks and cuts connections. */
async function other(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: POSTGRES_URL });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

function batch(threadId: string, checkpointId = "1", bytes = 1): Batch {
  const data = new Uint8Array(bytes).fill(7);
  return {
    threadId,
    namespace: "",
    era: undefined,
    chunks: [],
    values: [],
    isSame: () => true,
    head: { checkpointId, parentId: undefined, data },
  };
}

/** Holds a thread's row, and gives what waits for it. */
async function hold(threadId: string) {
  const holder = await other();
  await holder.query("BEGIN");
  await holder.query(`SELECT 1 FROM "${schema}".threads WHERE thread_id = $1 FOR UPDATE`, [threadId]);
  const { pid } = (await holder.query("SELECT pg_backend_pid() AS pid")).rows[0] as { pid: number };
  const watcher = await other();
  const waiting = async () => {
    for (;;) {
      const { rows } = await watcher.query(
        "SELECT pid FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))",
        [pid],
      );
      if (rows.length > 0) return (rows[0] as { pid: number }).pid;
    }
  };
  return { holder, watcher, waiting };
}

/** A way to the server whose lines can be cut without a word, as when the server's machine goes. */
async function line() {
  const to = new URL(url);
  const { hostname } = to;
  const port = Number(to.port || 5432);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, hostname);
    for (const [socket, end] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        end.destroy();
      });
      socket.pipe(end);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  to.hostname = "127.0.0.1";
  to.port = String((server.address() as AddressInfo).port);
  return { url: to.href, cut };
}

describePostgres("Postgres in trouble", () => {
  it("a connection that is cut within a commit is a retryable error, nothing is half there, and the next call works", async () => {
    const driver = open();
    await driver.commit(batch("cut"));
    const { holder, watcher, waiting } = await hold("cut");
    const failed = driver.commit(batch("cut", "2")).catch((error: unknown) => error);
    await watcher.query("SELECT pg_terminate_backend($1)", [await waiting()]);
    // the beginning had not returned, so the call may have been repeated: it waits again, or has failed
    const again = await Promise.race([failed, waiting()]);
    if (typeof again === "number") {
      await holder.query("ROLLBACK");
      expect(await failed).toMatchObject({ ok: true });
    } else {
      expect(again).toMatchObject({ code: "STORAGE_CONNECTION", retryable: true });
      await holder.query("ROLLBACK");
      expect(await driver.commit(batch("cut", "2"))).toMatchObject({ ok: true });
    }
    const ids: string[] = [];
    for await (const { checkpointId } of driver.heads({ threadId: "cut" })) ids.push(checkpointId);
    expect(ids).toEqual(["2", "1"]);
  });

  it("a connection that is cut between two statements of a commit does not end the process", async () => {
    const driver = open();
    await driver.commit({
      ...batch("between"),
      values: [{ channel: "a", version: "1", data: new Uint8Array([1]) }],
    });
    const { holder, watcher, waiting } = await hold("none");
    // the statement of the commit waits here, after its beginning
    await holder.query(`LOCK TABLE "${schema}".channel_values IN ACCESS EXCLUSIVE MODE`);
    const failed = driver.commit(batch("between", "2")).catch((error: unknown) => error);
    await watcher.query("SELECT pg_terminate_backend($1)", [await waiting()]);
    expect(await failed).toMatchObject({ code: "STORAGE_CONNECTION", retryable: true });
    await holder.query("ROLLBACK");
    expect((await driver.head("between", ""))?.checkpointId).toBe("1");
    expect(await driver.commit(batch("between", "2"))).toMatchObject({ ok: true });
  });

  it("a line that breaks without a word, within a commit and while idle, is a retryable error or is replaced", async () => {
    const { url, cut } = await line();
    const driver = open({ url });
    await driver.commit(batch("silent"));
    const { holder, waiting } = await hold("none");
    await holder.query(`LOCK TABLE "${schema}".channel_values IN ACCESS EXCLUSIVE MODE`);
    const failed = driver.commit(batch("silent", "2")).catch((error: unknown) => error);
    await waiting();
    cut();
    expect(await failed).toMatchObject({ code: "STORAGE_CONNECTION", retryable: true });
    // the server does not know yet that the other end is gone, and holds the thread's row until it notices
    await holder.query("ROLLBACK");
    expect(await driver.commit(batch("silent", "2"))).toMatchObject({ ok: true });
    cut();
    expect((await driver.head("silent", ""))?.checkpointId).toBe("2");
    cut();
    expect(await driver.commit(batch("silent", "3"))).toMatchObject({ ok: true });
  });

  it("C14: a row that another holds is waited for, then is a retryable error with nothing written", async () => {
    const driver = open({ busyWaitMs: 50 });
    await driver.commit(batch("held"));
    const { holder } = await hold("held");
    const failed = await driver.commit(batch("held", "2")).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "STORAGE_BUSY", retryable: true });
    // the connection went back clean, and reading waits for nobody
    expect((await driver.head("held", ""))?.checkpointId).toBe("1");
    await holder.query("ROLLBACK");
    expect(await driver.commit(batch("held", "2"))).toMatchObject({ ok: true });
  });

  it("a statement that takes too long is a retryable error", async () => {
    const driver = open({ statementTimeoutMs: 100 });
    await driver.commit(batch("slow"));
    await hold("slow");
    const failed = await driver.commit(batch("slow", "2")).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "STORAGE_BUSY", retryable: true });
  });

  it("a read-only server refuses writes with a typed error, and reads", async () => {
    await open().commit(batch("reader"));
    const readOnly = new URL(url);
    readOnly.searchParams.set("options", "-c default_transaction_read_only=on");
    const driver = open({ url: readOnly.href });
    expect((await driver.head("reader", ""))?.checkpointId).toBe("1");
    await expect(driver.commit(batch("reader", "2"))).rejects.toMatchObject({
      code: "STORAGE_WRITE",
      reason: "read-only",
    });
  });

  it("tables of a newer version are refused and left alone", async () => {
    await open().commit(batch("newer"));
    const client = await other();
    await client.query(`UPDATE "${schema}".meta SET version = version + 1`);
    await expect(open().commit(batch("newer", "2"))).rejects.toMatchObject({ code: "UNREADABLE_TARGET" });
    await client.query(`UPDATE "${schema}".meta SET version = version - 1`);
    expect((await open().head("newer", ""))?.checkpointId).toBe("1");
  });

  it("sets up while others hold its tables", async () => {
    await open().commit(batch("busy"));
    const { holder } = await hold("busy");
    await holder.query(`INSERT INTO "${schema}".chunks VALUES (0, '\\x00', '\\x00')`);
    const driver = open({ busyWaitMs: 1_000 });
    await driver.open();
    expect(await driver.commit(batch("beside"))).toMatchObject({ ok: true });
    await holder.query("ROLLBACK");
  });

  it("a usual commit takes three round trips, the guarded one too", async () => {
    const driver = open();
    await driver.commit(batch("trips"));
    const sent: unknown[] = [];
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
      sent.push(args[0]);
      return (query as (...all: unknown[]) => unknown).apply(this, args);
    } as typeof query;
    const guard = { key: { collection: "leases", thread: "", key: "k" }, allows: () => true };
    try {
      await driver.commit({ ...batch("trips", "2"), guard });
    } finally {
      pg.Client.prototype.query = query;
    }
    expect(sent.length).toBe(3);
  });

  it("C19: 40 MB in one commit, in slices that are one transaction", async () => {
    const driver = open();
    const chunks = Array.from({ length: 640 }, (_, i) => ({
      hash: Buffer.from(`chunk ${i}`.padEnd(33, "_")).toString("base64url"),
      data: new Uint8Array(65_000).fill(i % 251),
    }));
    const refused = { ...batch("large"), era: "0.0", chunks };
    expect(await driver.commit(refused)).toEqual({ ok: false, reason: "stale" });
    expect(await driver.thread("large")).toBe(undefined);
    const conflict = (isSame: boolean, data: number): Batch => ({
      ...batch("large"),
      chunks,
      values: [{ channel: "a", version: "1", data: new Uint8Array([data]) }],
      isSame: () => isSame,
    });
    await driver.commit({ ...conflict(true, 1), chunks: [] });
    expect(await driver.commit(conflict(false, 2))).toMatchObject({ ok: false, reason: "conflict" });
    const hashes = chunks.map(({ hash }) => hash);
    expect((await driver.chunks("large", hashes)).size).toBe(0);
    expect(await driver.commit(conflict(true, 1))).toMatchObject({ ok: true });
    const stored = await driver.chunks("large", hashes);
    expect(stored.size).toBe(640);
    for (const { hash, data } of chunks) expect(Buffer.compare(stored.get(hash) as Uint8Array, data)).toBe(0);
  }, 60_000);
});

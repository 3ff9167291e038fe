import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemDeps } from "@longhaul/core";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "./connection.ts";

function open(): Connection {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-connection-"));
  const connection = new Connection({
    path: join(folder, "x.db"),
    readOnly: false,
    busyWaitMs: 100,
    deps: systemDeps,
  });
  onTestFinished(async () => {
    await connection.close();
    rmSync(folder, { recursive: true });
  });
  return connection;
}

const insert = (connection: Connection, ref: string, data: Buffer) =>
  connection.write(() =>
    connection
      .statement("INSERT INTO artifacts (thread_id, ref, chars, meta, data) VALUES ('t', ?, 0, x'', ?)")
      .run(ref, data),
  );
const count = (connection: Connection) =>
  connection.read(
    () => (connection.statement("SELECT count(*) AS n FROM artifacts").get() as { n: number }).n,
  );

describe("Connection", () => {
  it("C14: a full disk is a typed error, the transaction leaves nothing, and smaller writes go on", async () => {
    const connection = open();
    await insert(connection, "a", Buffer.alloc(10));
    await connection.read((database) => database.pragma("max_page_count = 40"));
    await expect(insert(connection, "b", Buffer.alloc(4_000_000))).rejects.toMatchObject({
      code: "STORAGE_WRITE",
      reason: "full",
    });
    expect(await count(connection)).toBe(1);
    await insert(connection, "c", Buffer.alloc(10));
    expect(await count(connection)).toBe(2);
  });

  it("rolls back what a failing job did, and goes on with the next", async () => {
    const connection = open();
    const failing = connection.write((database) => {
      database.exec("DELETE FROM artifacts");
      throw new Error("stop");
    });
    const next = insert(connection, "a", Buffer.alloc(1));
    await expect(failing).rejects.toThrow("stop");
    await next;
    expect(await count(connection)).toBe(1);
  });

  it("C14: setup on a file that another process is creating waits for it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "longhaul-connection-"));
    const path = join(folder, "x.db");
    const creator = new Database(path, { timeout: 0 });
    let sleeps = 0;
    const clock = {
      ...systemDeps.clock,
      sleep: async () => {
        sleeps += 1;
        if (sleeps === 3) creator.exec("ROLLBACK");
      },
    };
    const connection = new Connection({
      path,
      readOnly: false,
      busyWaitMs: 10_000,
      deps: { ...systemDeps, clock },
    });
    onTestFinished(async () => {
      await connection.close();
      creator.close();
      rmSync(folder, { recursive: true });
    });
    creator.exec("BEGIN EXCLUSIVE");
    await connection.open();
    expect(sleeps).toBe(3);
    expect(await count(connection)).toBe(0);
  });

  it("C14: waiting for a lock leaves the event loop free between short tries", async () => {
    const connection = open();
    await connection.open();
    const locker = new Database(connection.target, { timeout: 0 });
    locker.exec("BEGIN IMMEDIATE");
    // what one try may block
    expect(await connection.read((database) => database.pragma("busy_timeout", { simple: true }))).toBe(5);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const failed = await insert(connection, "a", Buffer.alloc(1)).catch((error: unknown) => error);
    clearInterval(timer);
    locker.close();
    expect(failed).toMatchObject({ code: "STORAGE_BUSY", retryable: true });
    expect(turns).toBeGreaterThan(2);
  });

  it("commits durable writes with a full sync, others without", async () => {
    const connection = open();
    const level = () => connection.read((database) => database.pragma("synchronous", { simple: true }));
    let during: unknown;
    await connection.write(
      (database) => {
        during = database.pragma("synchronous", { simple: true });
      },
      { durable: true },
    );
    expect([during, await level()]).toEqual([2, 1]);
    const failed = connection.write(
      () => {
        throw new Error("stop");
      },
      { durable: true },
    );
    await expect(failed).rejects.toThrow("stop");
    expect(await level()).toBe(1);
    // a file that is there already has the level of its own connection, not the library's
    const again = new Connection({
      path: connection.target,
      readOnly: false,
      busyWaitMs: 100,
      deps: systemDeps,
    });
    expect(await again.read((database) => database.pragma("synchronous", { simple: true }))).toBe(1);
    await again.close();
  });
});

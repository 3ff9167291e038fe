import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemDeps } from "@longhaul/core";
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
  });
});

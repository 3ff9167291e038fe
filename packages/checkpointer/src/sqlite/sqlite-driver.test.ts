import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LonghaulError, systemDeps } from "@longhaul/core";
import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Batch, Row } from "../driver/driver.ts";
import { SqliteDriver } from "./sqlite-driver.ts";

function tempFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-sqlite-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "x.db");
}

function open(path: string, options: { busyWaitMs?: number; deps?: typeof systemDeps } = {}): SqliteDriver {
  const driver = new SqliteDriver({ path, readOnly: false, busyWaitMs: 500, deps: systemDeps, ...options });
  onTestFinished(() => driver.close());
  return driver;
}

const hash = (n: number) => Buffer.alloc(16, n).toString("base64url");
const fill = (n: number, size: number) => Buffer.alloc(size, `${n} `);

function batch(n: number, size = 200, threadId = "t"): Batch {
  return {
    threadId,
    namespace: n % 5 === 4 ? "child" : "",
    era: undefined,
    chunks: [{ hash: hash(n), data: fill(n, size) }],
    values: [{ channel: "messages", version: `${n}`, data: fill(n, 50) }],
    isSame: () => false,
    head: { checkpointId: `c${n}`, parentId: n > 0 ? `c${n - 1}` : undefined, data: fill(n, 300) },
    writes: {
      checkpointId: `c${n}`,
      rows: [{ taskId: "task", index: 0, taskPath: "", channel: "a", data: fill(n, 40) }],
    },
  };
}

async function toArray<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

const size = (path: string) =>
  ["", "-wal", "-shm"].reduce(
    (sum, end) => sum + (existsSync(path + end) ? statSync(path + end).size : 0),
    0,
  );

describe("SqliteDriver", () => {
  it("asks for the same settings on a new file and on one opened again", async () => {
    const path = tempFile();
    for (let round = 0; round < 2; round++) {
      const driver = open(path);
      await driver.open();
      const other = new Database(path);
      expect(other.pragma("journal_mode", { simple: true })).toBe("wal");
      expect(other.pragma("auto_vacuum", { simple: true })).toBe(2);
      expect(other.pragma("page_size", { simple: true })).toBe(8192);
      other.close();
      await driver.close();
    }
  });

  it("C19: the file shrinks after a deletion, and its log is emptied at the end though others keep it open", async () => {
    const path = tempFile();
    const driver = open(path);
    for (let n = 0; n < 60; n++) await driver.commit(batch(n, 50_000));
    const other = open(path);
    await other.open();
    const full = size(path);
    await driver.deleteThread("t", () => Buffer.from("1"));
    await driver.close();
    expect(existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0).toBe(0);
    expect(full).toBeGreaterThan(3_000_000);
    expect(size(path)).toBeLessThan(250_000);
    expect(await toArray(other.rows("t"))).toEqual([]);
    expect(await other.check()).toEqual([]);
  });

  it("C14: a deletion is done although another process keeps the freed space from being given back", async () => {
    const path = tempFile();
    let time = 0;
    const clock = {
      ...systemDeps.clock,
      monotonic: () => time,
      sleep: async (ms: number) => {
        time += ms;
      },
    };
    const driver = open(path, { deps: { ...systemDeps, clock } });
    for (let n = 0; n < 20; n++) await driver.commit(batch(n, 50_000));
    const locker = new Database(path, { timeout: 0 });
    onTestFinished(() => void locker.close());
    const deleted = driver.deleteThread("t", () => Buffer.from("1"));
    // the deletion has run in this turn; what follows it meets the lock
    locker.exec("BEGIN IMMEDIATE");
    await deleted;
    locker.exec("ROLLBACK");
    expect(time).toBeGreaterThanOrEqual(500);
    expect(await driver.thread("t")).toBeUndefined();
  });

  it("finds rows that belong to no thread", async () => {
    const path = tempFile();
    const driver = open(path);
    await driver.commit(batch(0));
    expect(await driver.check()).toEqual([]);
    const other = new Database(path);
    other.exec("DELETE FROM threads");
    other.close();
    expect((await driver.check()).join("\n")).toContain("rows of heads belong to no thread");
  });

  it("C16: a column of another type is damage and never a value", async () => {
    const path = tempFile();
    const driver = open(path);
    await driver.commit(batch(0));
    await driver.records.compareAndSet({ collection: "c", thread: "t", key: "k" }, null, one, false);
    await driver.artifacts.put("t", { ref: "r", chars: 1, meta: fill(0, 1), data: fill(0, 1) });
    const other = new Database(path);
    for (const table of ["heads", "channel_values", "writes", "chunks", "records", "artifacts"])
      other.exec(`UPDATE ${table} SET data = 'text'`);
    other.close();
    const calls = reads(driver).slice(1);
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "DAMAGED_RECORD" });
  });

  it("C16: 200 flipped bytes: right rows or a typed error, never a bare one", async () => {
    const path = tempFile();
    const driver = open(path);
    for (let n = 0; n < 40; n++) await driver.commit(batch(n, 3_000));
    await driver.records.compareAndSet({ collection: "c", thread: "t", key: "k" }, null, one, false);
    await driver.artifacts.put("t", { ref: "r", chars: 1, meta: fill(0, 1), data: fill(0, 9_000) });
    await driver.close();
    const sound = readFileSync(path);
    const copy = `${path}.copy`;
    let typed = 0;
    await fc.assert(
      fc.asyncProperty(
        // half of them where pages begin: there stand the structures
        fc.oneof(
          fc.nat(sound.length - 1),
          fc
            .tuple(fc.nat(sound.length / 8192 - 1), fc.nat(200))
            .map(([page, offset]) => page * 8192 + offset),
        ),
        fc.integer({ min: 1, max: 255 }),
        async (position, mask) => {
          for (const end of ["-wal", "-shm"]) rmSync(copy + end, { force: true });
          const bytes = Buffer.from(sound);
          bytes[position] = (bytes[position] as number) ^ mask;
          writeFileSync(copy, bytes);
          const damaged = new SqliteDriver({ path: copy, readOnly: false, busyWaitMs: 0, deps: systemDeps });
          try {
            for (const call of [
              ...reads(damaged),
              () => damaged.check(),
              () => damaged.commit(batch(50)),
              () => damaged.deleteThread("t", () => one.data),
            ])
              await call().catch((error: unknown) => {
                if (!(error instanceof LonghaulError)) throw error;
                expect(["DAMAGED_RECORD", "UNREADABLE_TARGET", "STORAGE_WRITE"]).toContain(error.code);
                typed += 1;
              });
          } finally {
            await damaged.close();
          }
        },
      ),
      { numRuns: 200, seed: 16 },
    );
    expect(typed).toBeGreaterThan(0);
  }, 60_000);

  it("reads every row once while another connection adds and sweeps others", async () => {
    const path = tempFile();
    const driver = open(path);
    for (let n = 0; n < 130; n++) await driver.commit(batch(n));
    const other = open(path);
    const seen: Row[] = [];
    for await (const row of driver.rows("t")) {
      if (seen.length === 10) await other.commit(batch(200));
      if (seen.length === 150) {
        const { revision = "" } = (await other.thread("t")) ?? {};
        const heads = [{ threadId: "t", namespace: "", checkpointId: "c200" }];
        const values = [{ namespace: "", channel: "messages", version: "200" }];
        await other.sweep({ threadId: "t", revision, heads, values, chunks: [hash(200)], rewritten: [] });
      }
      seen.push(row);
    }
    const old = (kind: string) =>
      seen.filter((row) => row.kind === kind && !JSON.stringify(row).includes('"c200"')).length;
    expect([old("head"), old("write")]).toEqual([130, 130]);
    expect(new Set(seen.map((row) => JSON.stringify({ ...row, data: 0 }))).size).toBe(seen.length);
    expect(seen.filter((row) => row.kind === "chunk").length).toBe(130);
  });

  it("refuses a copy of a newer schema and leaves it as it is", async () => {
    const path = tempFile();
    const driver = open(path);
    await driver.commit(batch(0));
    await driver.close();
    const newer = `${path}.newer`;
    copyFileSync(path, newer);
    const other = new Database(newer);
    other.pragma("user_version = 99");
    other.close();
    const before = readFileSync(newer);
    await expect(open(newer).head("t", "")).rejects.toMatchObject({
      code: "UNREADABLE_TARGET",
      target: newer,
    });
    expect(readFileSync(newer).equals(before)).toBe(true);
  });
});

const one = { data: Buffer.from("1"), expiresAt: undefined };

function reads(driver: SqliteDriver): (() => Promise<unknown>)[] {
  const address = { threadId: "t", namespace: "", checkpointId: "c0" };
  return [
    () => driver.thread("t"),
    () => driver.head("t", ""),
    () => toArray(driver.heads({})),
    () => driver.writes(address),
    () => driver.values("t", "", [{ channel: "messages", version: "0" }]),
    () => driver.chunks("t", [hash(0)]),
    () => toArray(driver.rows()),
    () => driver.records.get({ collection: "c", thread: "t", key: "k" }),
    () => toArray(driver.records.list("c", "t", "")),
    () => driver.artifacts.get("t", "r"),
  ];
}

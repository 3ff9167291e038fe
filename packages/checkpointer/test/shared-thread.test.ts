import type { ChildProcess } from "node:child_process";
import { CompactSaver } from "@longhaul/checkpointer";
import { describe, expect, it } from "vitest";
import { describePostgres, describeRedis, postgresSchema, REDIS_URL, redisPrefix } from "./servers.ts";
import { tempFile } from "./temp.ts";
import { allTold, worker } from "./workers.ts";

/** Four processes that begin at the same moment; resolves to what each of them said. */
async function atOnce<T>(what: string, target: string): Promise<T[][]> {
  const children = ["a", "b", "c", "d"].map((name) => worker(what, target, name));
  const told = children.map((child) => allTold<T | "ready">(child));
  await Promise.all(children.map(isReady));
  for (const child of children) child.send("go");
  return (await Promise.all(told)).map((all) => all.filter((message): message is T => message !== "ready"));
}

function isReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("message", () => resolve()));
}

function sharedThreadTests(target: () => string, open: (target: string) => CompactSaver): void {
  it("C7: four processes write one thread: every child of every head is there, as a readable fork", async () => {
    const at = target();
    const told = (await atOnce<{ id: string; list: string[] }>("one-thread", at)).flat();
    expect(told.length).toBe(80);
    const saver = open(at);
    for (const { id, list } of told) {
      const tuple = await saver.getTuple({
        configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: id },
      });
      expect(tuple?.checkpoint.channel_values.list).toEqual(list);
      expect(tuple?.pendingWrites?.length).toBe(1);
    }
    expect((await saver.stats("t")).checkpoints).toBe(80);
    expect((await saver.verify("t")).problems).toEqual([]);
    await saver.end();
  }, 60_000);

  it("of 32 claims of one key in four processes exactly one succeeds", async () => {
    const at = target();
    const told = (await atOnce<{ won: number }>("claims", at)).flat();
    expect(told.length).toBe(4);
    expect(told.reduce((sum, { won }) => sum + won, 0)).toBe(1);
  }, 60_000);
}

describe("one thread in several processes, SQLite", () =>
  sharedThreadTests(tempFile, (target) => CompactSaver.fromConnString(target)));

const { url } = postgresSchema("thread");
describePostgres("one thread in several processes, Postgres", () =>
  sharedThreadTests(
    () => url,
    (target) => CompactSaver.fromConnString(target),
  ),
);

const keyPrefix = redisPrefix("thread");
describeRedis("one thread in several processes, Redis", () =>
  sharedThreadTests(
    () => `${REDIS_URL}#${keyPrefix}`,
    () => CompactSaver.fromConnString(REDIS_URL, { redis: { keyPrefix } }),
  ),
);

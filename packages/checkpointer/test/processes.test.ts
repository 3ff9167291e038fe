import type { ChildProcess } from "node:child_process";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { StorageBusyError, StorageWriteError } from "@longhaul/checkpointer";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { open, tempFile, valuesOf } from "./temp.ts";
import { ended, worker } from "./workers.ts";

const meta = { source: "loop" as const, step: 0, parents: {} };
const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };
const plain = () => ({ ...emptyCheckpoint(), id: uuid6(0) });

const told = (child: ChildProcess) =>
  new Promise<unknown>((resolve) => child.once("message", (message) => resolve(message)));

describe("several processes on one file", () => {
  it("C14: two processes write 50 steps each while a third holds a read transaction", async () => {
    const path = tempFile();
    const reader = worker("read", path);
    await told(reader);
    const children = [worker("write", path, "a"), worker("write", path, "b")];
    expect(await Promise.all(children.map(ended))).toEqual([0, 0]);
    // held for as long as the others wrote, and saw none of it
    const held = told(reader);
    const gone = ended(reader);
    reader.send("stop");
    expect(await held).toEqual({ before: 0, after: 0 });
    expect(await gone).toBe(0);
    const saver = open(path);
    for (const name of ["a", "b"]) {
      const stats = await saver.stats(`thread-${name}`);
      expect(stats).toMatchObject({ checkpoints: 51, writes: 150, values: 50 });
      const config = { configurable: { thread_id: `thread-${name}` } };
      expect((await valuesOf<{ list: string[] }>(saver, config)).list.length).toBe(49);
      expect((await saver.getTuple(config))?.pendingWrites?.length).toBe(3);
    }
    expect((await saver.records.get({ collection: "shared", thread: "", key: "counter" }))?.value).toBe(100);
    expect((await saver.verify()).ok).toBe(true);
  }, 60_000);

  it("C14: four processes set up one new file at the same time, 20 runs each: no lock error, no lost write", async () => {
    const path = tempFile();
    const children = [0, 1, 2, 3].map((n) => worker("runs", path, `p${n}`, "20"));
    expect(await Promise.all(children.map(ended))).toEqual([0, 0, 0, 0]);
    const saver = open(path);
    for (let n = 0; n < 4; n++)
      for (let run = 0; run < 20; run++) {
        const tuple = await saver.getTuple({ configurable: { thread_id: `p${n}-${run}` } });
        expect(tuple?.checkpoint.channel_values).toEqual({ text: `p${n} ${run}` });
        expect(tuple?.pendingWrites?.map(([task, , value]) => [task, value])).toEqual([
          ["task-0", 0],
          ["task-1", 1],
          ["task-2", 2],
        ]);
      }
    expect((await saver.verify()).ok).toBe(true);
  }, 60_000);

  it("C10: what was acknowledged before a SIGKILL is there", async () => {
    const path = tempFile();
    const child = worker("die", path);
    const id = new Promise<unknown>((resolve) => child.once("message", resolve));
    await ended(child);
    const saver = open(path);
    const tuple = await saver.getTuple(root);
    expect(tuple?.checkpoint.id).toBe(await id);
    expect(tuple?.pendingWrites).toEqual([["task", "a", "x".repeat(100_000)]]);
    expect((await saver.records.get({ collection: "effects", thread: "t", key: "k" }))?.value).toBe(
      "claimed",
    );
  }, 60_000);

  it("C14: a lock is waited for without blocking the event loop, and then is a retryable error", async () => {
    const path = tempFile();
    let time = 0;
    let sleeps = 0;
    const clock = {
      now: () => time,
      monotonic: () => time,
      sleep: async (ms: number) => {
        time += ms;
        sleeps += 1;
        if (onSleep) onSleep(sleeps);
      },
    };
    let onSleep: ((count: number) => void) | undefined;
    const saver = open(path, { busyWaitMs: 500, deps: { clock } });
    await saver.setup();
    const locker = new Database(path);
    locker.exec("BEGIN IMMEDIATE");
    // given up in time: nobody notices
    onSleep = (count) => count === 5 && locker.exec("COMMIT");
    const config = await saver.put(root, plain(), meta, {});
    expect(sleeps).toBe(5);
    // held on: a typed error, nothing stored, and the next call works
    onSleep = undefined;
    locker.exec("BEGIN IMMEDIATE");
    const failed = await saver.putWrites(config, [["a", 1]], "t").catch((error: unknown) => error);
    expect(StorageBusyError.isInstance(failed) && failed.retryable && failed.waitedMs >= 500).toBe(true);
    locker.exec("COMMIT");
    locker.close();
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([]);
    await saver.putWrites(config, [["a", 1]], "t");
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([["t", "a", 1]]);
  });

  it("C14: a read-only file can be read, and refuses writes with a typed error", async () => {
    const path = tempFile();
    const saver = open(path);
    const config = await saver.put(root, plain(), meta, {});
    const readOnly = open(`sqlite:${path}?mode=ro`);
    expect((await readOnly.getTuple(root))?.config).toEqual(config);
    const refused = await readOnly.putWrites(config, [["a", 1]], "t").catch((error: unknown) => error);
    expect(StorageWriteError.isInstance(refused) && refused.reason).toBe("read-only");
    expect((await saver.getTuple(root))?.pendingWrites).toEqual([]);
    await expect(open(`sqlite:${tempFile()}?mode=ro`).setup()).rejects.toMatchObject({
      code: "UNREADABLE_TARGET",
    });
  });

  it("end is safe twice, waits for what is under way, and closes for good", async () => {
    const path = tempFile();
    const saver = open(path);
    const put = saver.put(root, plain(), meta, {});
    await Promise.all([saver.end(), saver.end()]);
    await put;
    await saver.end();
    await expect(saver.getTuple(root)).rejects.toMatchObject({ code: "STORAGE_CLOSED" });
    expect(await open(path).getTuple(root)).toBeDefined();
  });
});

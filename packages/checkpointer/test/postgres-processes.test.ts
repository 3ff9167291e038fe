import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { CompactSaver } from "@longhaul/checkpointer";
import { expect, it, onTestFinished } from "vitest";
import { describePostgres, postgresSchema } from "./servers.ts";
import { valuesOf } from "./temp.ts";

const { url } = postgresSchema("processes");

function worker(...args: string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL("./worker.ts", import.meta.url)), args, {
    execArgv: ["--import", "tsx"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));

interface Told {
  readonly put?: string;
  readonly length?: number;
  readonly writes?: string;
  readonly step?: number;
  readonly claim?: string;
}

/** Kills the child as soon as it has told of so many calls: the next one is then under way. */
function killAfter(child: ChildProcess, calls: number): Promise<Told[]> {
  const told: Told[] = [];
  return new Promise((resolve) => {
    child.on("message", (message) => {
      told.push(message as Told);
      if (told.length === calls) child.kill("SIGKILL");
    });
    // after the exit no message is left in the channel
    let open = 2;
    const close = () => --open === 0 && resolve(told);
    child.once("exit", close);
    child.once("disconnect", close);
  });
}

describePostgres("several processes on one Postgres", () => {
  it("C14: eight processes make the tables at the same time and write 50 steps each", async () => {
    const names = [..."abcdefgh"];
    const children = names.map((name) => worker("write", url, name));
    expect(await Promise.all(children.map(ended))).toEqual(names.map(() => 0));
    const saver = CompactSaver.fromConnString(url);
    for (const name of names) {
      expect(await saver.stats(`thread-${name}`)).toMatchObject({ checkpoints: 51, writes: 150, values: 50 });
      const config = { configurable: { thread_id: `thread-${name}` } };
      expect((await valuesOf<{ list: string[] }>(saver, config)).list.length).toBe(49);
      expect((await saver.getTuple(config))?.pendingWrites?.length).toBe(3);
    }
    // every process added one for each step: no update was lost
    expect((await saver.records.get({ collection: "shared", thread: "", key: "counter" }))?.value).toBe(400);
    expect((await saver.verify()).problems).toEqual([]);
    await saver.end();
  }, 120_000);

  // moments within put, putWrites and a claim, early and late
  const moments = [1, 2, 3, 17, 31, 60].map((calls, i) => ({ calls, name: `killed-${i}` }));
  it("C10: what was acknowledged before a SIGKILL is there, and nothing is half there", async () => {
    const killed = moments.map(({ calls, name }) => killAfter(worker("acknowledge", url, name), calls));
    const saver = CompactSaver.fromConnString(url);
    for (const [i, told] of (await Promise.all(killed)).entries()) {
      const { name, calls } = moments[i] as (typeof moments)[number];
      expect(told.length).toBeGreaterThanOrEqual(calls);
      const thread_id = `thread-${name}`;
      for (const { put, length, writes, step, claim } of told) {
        const config = { configurable: { thread_id, checkpoint_id: put ?? writes } };
        if (put !== undefined)
          expect((await valuesOf<{ list: string[] }>(saver, config)).list.length).toBe(length);
        if (writes !== undefined)
          expect((await saver.getTuple(config))?.pendingWrites).toEqual([["task", "list", [step]]]);
        if (claim !== undefined) {
          const key = { collection: "effects", thread: thread_id, key: claim };
          expect((await saver.records.get(key))?.value).toBe("claimed");
        }
      }
      expect((await saver.verify(thread_id)).problems).toEqual([]);
    }
    await saver.end();
  }, 120_000);
});

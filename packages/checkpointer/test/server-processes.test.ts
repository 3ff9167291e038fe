import type { ChildProcess } from "node:child_process";
import { CompactSaver } from "@longhaul/checkpointer";
import { expect, it } from "vitest";
import { describePostgres, describeRedis, postgresSchema, REDIS_URL, redisPrefix } from "./servers.ts";
import { valuesOf } from "./temp.ts";
import { allTold, ended, worker } from "./workers.ts";

interface Told {
  readonly put?: string;
  readonly length?: number;
  readonly writes?: string;
  readonly step?: number;
  readonly claim?: string;
}

/** Kills the child as soon as it has told of so many calls: the next one is then under way. */
function killAfter(child: ChildProcess, calls: number): Promise<Told[]> {
  return allTold<Told>(child, (told) => told.length === calls && child.kill("SIGKILL"));
}

/** `target` is a URL, and after `#` the prefix of Redis's keys. */
function processTests(target: string, open: () => CompactSaver): void {
  it("C14: eight processes begin at the same time and write 50 steps each", async () => {
    const names = [..."abcdefgh"];
    const children = names.map((name) => worker("write", target, name));
    expect(await Promise.all(children.map(ended))).toEqual(names.map(() => 0));
    const saver = open();
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
    const killed = moments.map(({ calls, name }) => killAfter(worker("acknowledge", target, name), calls));
    const saver = open();
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
}

const { url } = postgresSchema("processes");
describePostgres("several processes on one Postgres", () => {
  processTests(url, () => CompactSaver.fromConnString(url));
});

const redis = redisPrefix("processes");
describeRedis("several processes on one Redis", () => {
  processTests(`${REDIS_URL}#${redis}`, () =>
    CompactSaver.fromConnString(REDIS_URL, { redis: { keyPrefix: redis } }),
  );
});

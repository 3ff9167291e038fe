import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { storageDriverSuite } from "@longhaul/checkpointer/conformance";
import { type LonghaulEvent, systemClock } from "@longhaul/core";
import { createClient } from "redis";
import { expect, it } from "vitest";
import { RedisDriver } from "../src/redis/redis-driver.ts";
import { cuttable } from "./cuttable.ts";
import { fakeTime, runner } from "./driver-runner.ts";
import { officialSuite } from "./official-suite.ts";
import { describeRedis, REDIS_URL, redisPrefix } from "./servers.ts";

const PREFIX = redisPrefix("saver");
let files = 0;
const fresh = () => `${PREFIX}:${files++}`;
const root = { configurable: { thread_id: "t", checkpoint_ns: "" } };
const meta = { source: "loop" as const, step: 1, parents: {} };

describeRedis("Redis", () => {
  storageDriverSuite(
    "Redis",
    async () => {
      const { clock, ...time } = fakeTime();
      const options = { url: REDIS_URL, keyPrefix: fresh(), busyWaitMs: 5_000, deps: { clock } };
      return { driver: new RedisDriver(options), another: async () => new RedisDriver(options), ...time };
    },
    runner,
  );

  officialSuite("Redis", () => CompactSaver.fromConnString(REDIS_URL, { redis: { keyPrefix: fresh() } }));

  it("says once that what it holds may be lost, unless the server syncs always", async () => {
    const events: LonghaulEvent[] = [];
    const options = {
      redis: { keyPrefix: fresh() },
      events: (event: LonghaulEvent) => void events.push(event),
    };
    const saver = CompactSaver.fromConnString(REDIS_URL, options);
    await saver.setup();
    await saver.getTuple(root);
    const client = createClient({ url: REDIS_URL });
    await client.connect();
    const { appendonly, appendfsync } = {
      ...(await client.configGet("appendonly")),
      ...(await client.configGet("appendfsync")),
    } as Record<string, string>;
    await client.close();
    const isSynced = appendonly === "yes" && appendfsync === "always";
    expect(events.filter((event) => event.type === "storage.volatile").length).toBe(isSynced ? 0 : 1);
    await saver.end();
  });

  it("a connection that was cut is an error to repeat or is replaced, and later calls go on", async () => {
    const proxy = await cuttable(REDIS_URL);
    const saver = CompactSaver.fromConnString(proxy.url, { redis: { keyPrefix: fresh() } });
    const put = (n: number) => saver.put(root, { ...emptyCheckpoint(), id: uuid6(n) }, meta, {});
    await put(1);
    proxy.cut();
    const second = await put(2).catch((error: { code?: string; retryable?: boolean }) => error);
    if ("code" in second) expect(second).toMatchObject({ code: "STORAGE_CONNECTION", retryable: true });
    const last = await put(3);
    expect((await saver.getTuple(root))?.config).toEqual(last);
    expect((await saver.verify()).problems).toEqual([]);
    await saver.end();
  });

  it("no server is a retryable error that names the address without the password", async () => {
    const options = {
      url: "redis://someone:secret@127.0.0.1:1",
      busyWaitMs: 100,
      deps: { clock: systemClock },
    };
    const driver = new RedisDriver(options);
    const error = await driver.thread("t").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "STORAGE_CONNECTION", retryable: true });
    expect(String(error)).not.toContain("secret");
    await driver.close();
  });
});

import { storageDriverSuite } from "@longhaul/checkpointer/conformance";
import { systemClock } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { MemoryDriver } from "../src/memory/memory-driver.ts";
import { SqliteDriver } from "../src/sqlite/sqlite-driver.ts";
import { tempFile } from "./temp.ts";

const runner = {
  describe,
  it,
  equal: (actual: unknown, expected: unknown) => expect(actual).toEqual(expected),
};

function fakeTime() {
  let time = 1_000_000;
  const now = () => time;
  const advance = (ms: number) => {
    time += ms;
  };
  return { now, advance, clock: { ...systemClock, now } };
}

storageDriverSuite(
  "memory",
  async () => {
    const { clock, ...time } = fakeTime();
    return { driver: new MemoryDriver({ clock }), ...time };
  },
  runner,
);
storageDriverSuite(
  "SQLite",
  async () => {
    const { clock, ...time } = fakeTime();
    const options = {
      path: tempFile(),
      readOnly: false,
      busyWaitMs: 5_000,
      deps: { clock, random: Math.random, id: () => "" },
    };
    const driver = new SqliteDriver(options as never);
    return { driver, another: async () => new SqliteDriver(options as never), ...time };
  },
  runner,
);

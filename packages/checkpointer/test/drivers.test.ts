import { storageDriverSuite } from "@longhaul/checkpointer/conformance";
import { FileDriver } from "../src/file/file-driver.ts";
import { MemoryDriver } from "../src/memory/memory-driver.ts";
import { SqliteDriver } from "../src/sqlite/sqlite-driver.ts";
import { fakeTime, runner } from "./driver-runner.ts";
import { tempFile } from "./temp.ts";

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
storageDriverSuite(
  "files",
  async () => {
    const { clock, ...time } = fakeTime();
    const options = { path: tempFile("threads"), busyWaitMs: 5_000, deps: { clock, random: Math.random } };
    const driver = new FileDriver(options);
    return { driver, another: async () => new FileDriver(options), ...time };
  },
  runner,
);

import { describe, expect, it } from "vitest";
import { BROKEN_CHECKPOINTS } from "../../test/broken-checkpoints.ts";
import { type Fault, withFault } from "../../test/broken-drivers.ts";
import { BROKEN_LIVES } from "../../test/broken-lives.ts";
import { fakeTime, runner } from "../../test/driver-runner.ts";
import { MemoryDriver } from "../memory/memory-driver.ts";
import { storageDriverSuite } from "./storage-driver.ts";

/** Runs the suite, or the tests whose title begins so, on a driver with a fault. @returns titles of the tests that ran and that failed */
async function run(fault: Fault, title = ""): Promise<{ ran: string[]; failed: string[] }> {
  const tests: { readonly name: string; readonly body: () => void | Promise<void> }[] = [];
  storageDriverSuite(
    "memory",
    async () => {
      const { clock, ...time } = fakeTime();
      return { driver: withFault(new MemoryDriver({ clock }), fault), ...time };
    },
    { describe: (_, body) => body(), it: (name, body) => tests.push({ name, body }), equal: runner.equal },
  );
  const ran: string[] = [];
  const failed: string[] = [];
  for (const { name, body } of tests.filter((test) => test.name.startsWith(title))) {
    ran.push(name);
    try {
      await body();
    } catch {
      failed.push(name);
    }
  }
  return { ran, failed };
}

describe("the suite for storage drivers", () => {
  it("passes the good driver, also through the wrapper that the broken ones use", async () => {
    const { ran, failed } = await run(() => ({}));
    expect(failed).toEqual([]);
    expect(ran.length).toBeGreaterThan(30);
  });

  it.each([...BROKEN_CHECKPOINTS, ...BROKEN_LIVES])("finds that %s", async (_, fault, caughtBy) => {
    const { ran, failed } = await run(fault, caughtBy);
    expect(ran).toHaveLength(1);
    expect(failed).toEqual(ran);
  });
});

import { artifactTableTests } from "./artifact-table.ts";
import { commitTests } from "./commit-tests.ts";
import type { DriverFixture, DriverTest } from "./driver-fixture.ts";
import { lifeTests } from "./life-tests.ts";
import { readTests } from "./read-tests.ts";
import { recordTableTests } from "./record-table.ts";
import type { TestRunner } from "./runner.ts";
import { sweepTests } from "./sweep-tests.ts";

/**
 * What every StorageDriver must do. `open` makes a fresh one for each test; with `another` the fixture gives a second instance on the same
 * storage, as another process would have.
 */
export function storageDriverSuite(
  name: string,
  open: () => Promise<DriverFixture>,
  { describe, it, equal }: TestRunner,
): void {
  const test: DriverTest = (title, body) =>
    it(title, async () => {
      const fixture = await open();
      try {
        await body(fixture, equal);
      } finally {
        await fixture.close?.();
        await fixture.driver.close();
      }
    });

  describe(`${name} as a StorageDriver`, () => {
    commitTests(test);
    readTests(test);
    sweepTests(test);
    lifeTests(test);
    recordTableTests(test);
    artifactTableTests(test);
  });
}

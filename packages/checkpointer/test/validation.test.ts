import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { CompactSaver } from "@longhaul/checkpointer";
import * as vitest from "vitest";

// the official suite takes its functions from the global scope
Object.assign(globalThis, {
  describe: vitest.describe,
  it: vitest.it,
  test: vitest.test,
  expect: vitest.expect,
  beforeAll: vitest.beforeAll,
  beforeEach: vitest.beforeEach,
  afterAll: vitest.afterAll,
  afterEach: vitest.afterEach,
});

for (const [name, target] of [
  ["memory", ":memory:"],
  ["SQLite", "sqlite::memory:"],
  ["files", () => `file:${mkdtempSync(join(tmpdir(), "longhaul-suite-"))}`],
] as const) {
  const initializer = {
    checkpointerName: `CompactSaver on ${name}`,
    createCheckpointer: () => CompactSaver.fromConnString(typeof target === "string" ? target : target()),
    destroyCheckpointer: (saver: CompactSaver) => saver.end(),
  };
  // the suite is typed for integer versions and works with any
  validate(initializer as unknown as Parameters<typeof validate>[0]);
  deltaChannelHistoryTests(initializer as unknown as Parameters<typeof deltaChannelHistoryTests>[0]);
}

import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import type { CompactSaver } from "@longhaul/checkpointer";
import * as vitest from "vitest";

// the official suite takes its functions from the global scope
const { describe, it, test, expect, beforeAll, beforeEach, afterAll, afterEach } = vitest;
Object.assign(globalThis, { describe, it, test, expect, beforeAll, beforeEach, afterAll, afterEach });

/** LangGraph's validation suite with its delta suite, on savers that `create` makes. */
export function officialSuite(
  name: string,
  create: () => CompactSaver,
  destroy: (saver: CompactSaver) => Promise<void> = (saver) => saver.end(),
): void {
  const initializer = {
    checkpointerName: `CompactSaver on ${name}`,
    createCheckpointer: create,
    destroyCheckpointer: destroy,
  };
  // the suite is typed for integer versions and works with any
  validate(initializer as unknown as Parameters<typeof validate>[0]);
  deltaChannelHistoryTests(initializer as unknown as Parameters<typeof deltaChannelHistoryTests>[0]);
}

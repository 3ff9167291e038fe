import { CompactSaver } from "@longhaul/checkpointer";
import { artifactStoreSuite, recordStoreSuite } from "@longhaul/checkpointer/conformance";
import { memoryStorage, systemClock } from "@longhaul/core";
import { describe, expect, it } from "vitest";

const runner = {
  describe,
  it,
  equal: (actual: unknown, expected: unknown) => expect(actual).toEqual(expected),
};

function fakeClock() {
  let time = 1_000_000;
  return {
    clock: { ...systemClock, now: () => time },
    now: () => time,
    advance: (ms: number) => {
      time += ms;
    },
  };
}

recordStoreSuite(
  "memory",
  async () => {
    const { clock, ...rest } = fakeClock();
    return { store: memoryStorage({ clock }).records, ...rest };
  },
  runner,
);
recordStoreSuite(
  "SQLite",
  async () => {
    const { clock, ...rest } = fakeClock();
    const saver = CompactSaver.fromConnString("sqlite::memory:", { deps: { clock } });
    return { store: saver.records, close: () => saver.end(), ...rest };
  },
  runner,
);
artifactStoreSuite("memory", async () => ({ store: memoryStorage().artifacts }), runner);
artifactStoreSuite(
  "SQLite",
  async () => {
    const saver = CompactSaver.fromConnString("sqlite::memory:");
    return { store: saver.artifacts, close: () => saver.end() };
  },
  runner,
);

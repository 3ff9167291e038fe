import { fakeClock } from "@longhaul/test-kit";
import { expect, it } from "vitest";
import { systemDeps } from "../clock.ts";
import { MemoryRecordStore } from "../storage/memory-storage.ts";
import { processOwner } from "../storage/owner.ts";
import type { RunRecord } from "./run-record.ts";
import { RunStore } from "./run-store.ts";

function world() {
  const clock = fakeClock();
  const records = new MemoryRecordStore(clock.now);
  return { clock, records, store: new RunStore(records, { ...systemDeps, clock }) };
}

const record = (runId: string): RunRecord => ({
  v: 1,
  runId,
  number: 1,
  status: "INIT",
  input: { digest: "d", stored: { messages: ["long"] } },
  baseCheckpointId: null,
  owner: processOwner(),
  token: 1,
  attempts: 0,
  recoveries: 0,
  failures: {},
  startedAt: 1,
  updatedAt: 1,
});

it("keeps the current run, and earlier ones without their input", async () => {
  const { store, clock } = world();
  const first = await store.begin("t", undefined, record("a"));
  const moved = await store.update("t", first, { status: "COMPLETED", lastFailure: undefined });
  await store.begin("t", moved, record("b"));
  expect((await store.current("t"))?.record.runId).toBe("b");
  const past = [];
  for await (const run of store.history("t")) past.push(run);
  expect(past).toMatchObject([
    { runId: "a", status: "COMPLETED", updatedAt: clock.now(), input: { stored: null } },
  ]);
  expect(await store.current("other")).toBeUndefined();
});

it("refuses a writer whose knowledge is old, and accepts the same write twice", async () => {
  const { store } = world();
  const first = await store.begin("t", undefined, record("a"));
  await store.update("t", first, { status: "RUNNING" });
  expect((await store.update("t", first, { status: "RUNNING" })).record.status).toBe("RUNNING");
  await expect(store.update("t", first, { status: "PAUSED" })).rejects.toMatchObject({ code: "LEASE_LOST" });
  await expect(store.begin("t", undefined, record("c"))).rejects.toMatchObject({ code: "LEASE_LOST" });
});

it.each([
  null,
  {},
  { ...record("a"), v: 2 },
  { ...record("a"), status: "DONE" },
  { ...record("a"), attempts: "3" },
])("never takes a damaged record for a first run (%#)", async (value) => {
  const { store, records } = world();
  await records.compareAndSet({ collection: "runs", thread: "t", key: "current" }, null, value as never);
  await expect(store.current("t")).rejects.toMatchObject({ code: "STATE_FORMAT" });
});

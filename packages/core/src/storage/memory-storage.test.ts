import { expect, it } from "vitest";
import { MemoryRecordStore } from "./memory-storage.ts";

it("does not use the version of an expired record again", async () => {
  let now = 0;
  const store = new MemoryRecordStore(() => now);
  const key = { collection: "c", thread: "t", key: "k" };
  await store.compareAndSet(key, null, 1, { expiresAt: 10 });
  now = 20;
  expect(await store.compareAndSet(key, null, 2)).toEqual({ ok: true, version: 2 });
  expect((await store.compareAndSet(key, 1, 3)).ok).toBe(false);
});

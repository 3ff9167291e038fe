import { fakeClock } from "@longhaul/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemDeps } from "../clock.ts";
import { MemoryRecordStore } from "../storage/memory-storage.ts";
import type { Owner } from "../storage/owner.ts";
import { keepLease } from "./lease-keeper.ts";
import { type Lease, LeaseStore } from "./lease-store.ts";
import { LeaseHeldError, LeaseLostError } from "./recovery-errors.ts";

const TTL = 30_000;

function world() {
  const clock = fakeClock();
  const records = new MemoryRecordStore(clock.now);
  const dead = new Set<number>();
  const worker = (pid: number) => {
    const owner: Owner = { v: 1, host: "h", pid, started: "1" };
    const alive = (other: Owner) => (other.host === "h" ? !dead.has(other.pid) : ("unknown" as const));
    return new LeaseStore(records, { ...systemDeps, clock }, { owner, alive });
  };
  return { clock, records, dead, worker };
}

describe("LeaseStore", () => {
  it("is exclusive until it is given back", async () => {
    const { worker } = world();
    const lease = await worker(1).acquire("t", TTL);
    await expect(worker(2).acquire("t", TTL)).rejects.toThrow(LeaseHeldError);
    await expect(worker(1).acquire("t", TTL)).rejects.toThrow(LeaseHeldError);
    await worker(2).acquire("other", TTL);
    await worker(1).release(lease);
    const next = await worker(2).acquire("t", TTL);
    expect(next).toMatchObject({ token: 2 });
    expect(next.takenFrom).toBeUndefined();
  });

  it("goes at once from a dead process of this host, and at its end from any", async () => {
    const { worker, dead, clock } = world();
    await worker(1).acquire("t", TTL);
    dead.add(1);
    const second = await worker(2).acquire("t", TTL);
    expect(second).toMatchObject({ token: 2, takenFrom: { owner: { pid: 1 }, dead: true } });
    await clock.advance(TTL);
    expect(await worker(3).acquire("t", TTL)).toMatchObject({
      token: 3,
      takenFrom: { owner: { pid: 2 }, dead: false },
    });
  });

  it("cannot be renewed or given back by who lost it", async () => {
    const { worker, clock } = world();
    const old = await worker(1).acquire("t", TTL);
    await clock.advance(TTL + 1);
    const fresh = await worker(2).acquire("t", TTL);
    await expect(worker(1).renew(old, TTL)).rejects.toThrow(LeaseLostError);
    await worker(1).release(old);
    expect(await worker(2).holder("t")).toMatchObject({ token: fresh.token, owner: { pid: 2 } });
  });

  it("survives a renewal whose answer was lost", async () => {
    const { worker } = world();
    const lease = await worker(1).acquire("t", TTL);
    await worker(1).renew(lease, TTL);
    expect((await worker(1).renew(lease, TTL)).token).toBe(lease.token);
  });

  it("never takes a damaged record for a free lease", async () => {
    const { worker, records } = world();
    await records.compareAndSet({ collection: "leases", thread: "t", key: "run" }, null, {
      v: 1,
      token: "x",
    });
    await expect(worker(1).acquire("t", TTL)).rejects.toMatchObject({ code: "STATE_FORMAT" });
  });

  it("has one holder at a time and tokens that only grow, whatever the workers do", async () => {
    const action = fc.record({
      worker: fc.integer({ min: 1, max: 4 }),
      does: fc.constantFrom("acquire", "renew", "release", "die", "wait"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        const { worker, clock, dead } = world();
        const leases = new Map<number, Lease>();
        let newest = 0;
        for (const { worker: pid, does } of actions) {
          if (does === "wait") await clock.advance(TTL / 2);
          if (does === "die") dead.add(pid);
          if (dead.has(pid) || does === "wait") continue;
          const lease = leases.get(pid);
          if (does === "acquire") {
            const taken = await worker(pid)
              .acquire("t", TTL)
              .catch(() => undefined);
            if (!taken) continue;
            for (const [other, held] of leases) {
              const stillHeld = held.expiresAt > clock.now() && !dead.has(other);
              expect(
                stillHeld &&
                  (await worker(other)
                    .renew(held, TTL)
                    .then(
                      () => true,
                      () => false,
                    )),
              ).toBe(false);
            }
            expect(taken.token).toBeGreaterThan(newest);
            newest = taken.token;
            leases.set(pid, taken);
          } else if (lease && does === "renew") {
            const renewed = await worker(pid)
              .renew(lease, TTL)
              .catch(() => undefined);
            expect(renewed === undefined || renewed.token === newest).toBe(true);
            if (renewed) leases.set(pid, renewed);
          } else if (lease && does === "release") {
            await worker(pid).release(lease);
            leases.delete(pid);
          }
        }
      }),
      { seed: 11, numRuns: 150 },
    );
  });
});

describe("keepLease", () => {
  it("renews three times in the life of the lease, and gives it back", async () => {
    const { worker, clock } = world();
    const kept = await keepLease(worker(1), clock, "t", TTL);
    await clock.advance(10 * TTL);
    expect(kept.lost.aborted).toBe(false);
    expect(new Set(clock.slept)).toEqual(new Set([10_000]));
    await kept.close();
    expect(await worker(2).acquire("t", TTL)).toMatchObject({ token: 2 });
  });

  it("says when it is lost, and then leaves the lease alone", async () => {
    const { worker, clock, dead } = world();
    const kept = await keepLease(worker(1), clock, "t", TTL);
    dead.add(1);
    await worker(2).acquire("t", TTL);
    await clock.advance(10_000);
    expect(kept.lost.reason).toMatchObject({ code: "LEASE_LOST", token: 1 });
    await kept.close();
    expect(await worker(2).holder("t")).toMatchObject({ owner: { pid: 2 } });
  });

  it("holds out while the storage is away, but not beyond the end of the lease", async () => {
    const { worker, clock, records } = world();
    let away = true;
    const flaky = new Proxy(records, {
      get: (target, name) =>
        name === "compareAndSet" && away
          ? async () => Promise.reject(new Error("gone"))
          : (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target),
    });
    away = false;
    const store = new LeaseStore(flaky, { ...systemDeps, clock }, { alive: () => true });
    const kept = await keepLease(store, clock, "t", TTL);
    away = true;
    await clock.advance(20_000);
    expect(kept.lost.aborted).toBe(false);
    away = false;
    await clock.advance(10_000 - 1);
    away = true;
    await clock.advance(TTL);
    expect(kept.lost.reason).toMatchObject({ code: "LEASE_LOST" });
    expect(await worker(2).acquire("t", TTL)).toBeDefined();
  });
});

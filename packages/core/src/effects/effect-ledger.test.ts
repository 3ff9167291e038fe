import { fakeClock } from "@longhaul/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemDeps } from "../clock.ts";
import type { Json } from "../json/json.ts";
import { MemoryRecordStore } from "../storage/memory-storage.ts";
import { type Owner, processOwner } from "../storage/owner.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { EffectConflictError, EffectLedgerError, EffectStateError } from "./effect-errors.ts";
import { type Claim, type ClaimRequest, EffectLedger, type LedgerOptions } from "./effect-ledger.ts";
import type { EffectRun } from "./effect-run.ts";
import { resolveEffect } from "./resolve-effect.ts";

const request = (fields: Partial<ClaimRequest> = {}): ClaimRequest => ({
  thread: "t",
  key: "k",
  payload: "p",
  tool: "charge",
  args: { order: "O-7" },
  ...fields,
});

function setup(options: LedgerOptions = {}, records: RecordStore = new MemoryRecordStore()) {
  const clock = fakeClock({ autoAdvance: false });
  return { clock, records, ledger: new EffectLedger(records, { ...systemDeps, clock }, options) };
}

const deadOwner: Owner = { ...processOwner(), pid: 2 ** 22 + 1 };
const runOf = (claim: Claim): EffectRun => {
  if (claim.status !== "run") throw new Error(`claim is ${claim.status}`);
  return claim.run;
};

describe("EffectLedger", () => {
  it("D5: of 32 concurrent claims one runs, the others get its result", async () => {
    const { ledger, clock } = setup();
    let effects = 0;
    const one = async () => {
      const claim = await ledger.claim(request());
      if (claim.status !== "run") return claim;
      await clock.sleep(50);
      effects++;
      await claim.run.commit({ ok: true, value: "charged" });
      return "ran";
    };
    const all = Promise.all(Array.from({ length: 32 }, one));
    await clock.advance(2_000);
    const results = await all;
    expect(effects).toBe(1);
    expect(results.filter((result) => result === "ran")).toHaveLength(1);
    for (const result of results)
      if (result !== "ran")
        expect(result).toMatchObject({
          status: "committed",
          record: { outcome: { ok: true, value: "charged" } },
        });
  });

  it("D5: when the one fails before its effect, the others share the failure and exactly one later attempt runs", async () => {
    const { ledger, clock } = setup();
    let attempts = 0;
    const one = async () => {
      const claim = await ledger.claim(request());
      if (claim.status !== "run") return claim.status;
      attempts++;
      await clock.sleep(50);
      await claim.run.fail("connection refused");
      return "ran";
    };
    const first = Promise.all(Array.from({ length: 32 }, one));
    await clock.advance(2_000);
    expect((await first).toSorted()).toEqual([...Array(31).fill("failed"), "ran"]);
    expect(attempts).toBe(1);
    const second = Promise.all(Array.from({ length: 8 }, one));
    await clock.advance(2_000);
    await second;
    expect(attempts).toBe(2);
    expect(await ledger.read("t", "k")).toMatchObject({ state: "failed", attempt: 2 });
  });

  it("D5: a duplicate waits within its bound and then hears that the call is in progress", async () => {
    const { ledger, clock } = setup({ waitMs: 5_000 });
    runOf(await ledger.claim(request()));
    const waiting = ledger.claim(request());
    await clock.advance(9_000);
    expect(await waiting).toMatchObject({ status: "in-progress" });
  });

  it("D4: another payload is a conflict before anything is said about progress or result", async () => {
    const { ledger } = setup({ waitMs: 0 });
    const run = runOf(await ledger.claim(request()));
    await expect(ledger.claim(request({ payload: "q" }))).rejects.toThrow(EffectConflictError);
    await run.commit({ ok: true, value: "secret" });
    const error: unknown = await ledger.claim(request({ payload: "q" })).catch((e: unknown) => e);
    expect(EffectConflictError.isInstance(error)).toBe(true);
    expect(String(error)).not.toContain("secret");
    expect(await ledger.claim(request())).toMatchObject({ status: "committed" });
  });

  it("D1, K2/K3: a dead owner's claim is unknown at once, also for a process that never saw it", async () => {
    const { ledger, records } = setup({ owner: deadOwner });
    runOf(await ledger.claim(request()));
    const { ledger: next } = setup({}, records);
    expect(await next.claim(request())).toMatchObject({
      status: "unknown",
      record: { state: "unknown", attempt: 1 },
    });
  });

  it("an owner on another host is believed until its lease runs out; a heartbeat renews it", async () => {
    const elsewhere: Owner = { ...processOwner(), host: "elsewhere" };
    const { ledger, records, clock } = setup({ owner: elsewhere });
    const run = runOf(await ledger.claim(request()));
    const next = new EffectLedger(records, { ...systemDeps, clock }, { waitMs: 0 });
    await clock.advance(29_000);
    await clock.advance(29_000);
    expect(await next.claim(request())).toMatchObject({ status: "in-progress" });
    expect(await ledger.read("t", "k")).toMatchObject({ state: "claimed", token: run.record.token });
    const { ledger: silent, clock: later } = setup({ owner: elsewhere, heartbeatMs: 10 ** 9 }, records);
    runOf(await silent.claim(request({ key: "k2" })));
    await later.advance(30_000);
    const third = new EffectLedger(records, { ...systemDeps, clock: later }, { waitMs: 0 });
    expect(await third.claim(request({ key: "k2" }))).toMatchObject({ status: "unknown" });
  });

  it("D11: while an equal call is unknown, one of another turn is held back, until it is settled", async () => {
    const { ledger } = setup();
    const run = runOf(await ledger.claim(request({ key: "lh-x-1", equals: "lh-x-" })));
    await run.unknown("timed out");
    const again = request({ key: "lh-x-2", equals: "lh-x-" });
    expect(await ledger.claim(again)).toMatchObject({ status: "unknown", key: "lh-x-1" });
    await resolveEffect({ effects: ledger }, "lh-x-1", "absent");
    expect(await ledger.claim(again)).toMatchObject({ status: "run" });
    expect(await ledger.claim(request({ key: "lh-x-1", equals: "lh-x-" }))).toMatchObject({ status: "run" });
  });

  it("resolveEffect: done replays the given result, is idempotent, and refuses what is not open", async () => {
    const { ledger } = setup();
    const storage = { effects: ledger };
    const run = runOf(await ledger.claim(request()));
    await expect(resolveEffect(storage, "k", "done")).rejects.toThrow(EffectStateError);
    await run.unknown("reset");
    await resolveEffect(storage, "k", "done", { ref: 5 });
    expect(await ledger.claim(request())).toMatchObject({
      status: "committed",
      record: { outcome: { ok: true, value: { ref: 5 } } },
    });
    await expect(resolveEffect(storage, "nowhere", "done")).rejects.toThrow(EffectStateError);
  });

  it("who ran the tool knows better than who took its lease for lost, but not than who settled it", async () => {
    const { ledger } = setup();
    const run = runOf(await ledger.claim(request()));
    await ledger.claim(request({ key: "k2" })).then((claim) => runOf(claim).unknown("x"));
    await run.unknown("a reader's mistake");
    expect(await run.commit({ ok: true, value: 1 })).toBe(true);
    const other = runOf(await ledger.claim(request({ key: "k3" })));
    await other.unknown("x");
    await ledger.resolve("t", "k3", "absent");
    const second = runOf(await ledger.claim(request({ key: "k3" })));
    expect(await other.commit({ ok: true, value: "late" })).toBe(false);
    await second.commit({ ok: true, value: "right" });
    expect(await ledger.read("t", "k3")).toMatchObject({ outcome: { value: "right" }, attempt: 2 });
  });

  it("keeps a tool's progress for its next run", async () => {
    const { ledger, records } = setup({ owner: deadOwner });
    const run = runOf(await ledger.claim(request()));
    const cursor = { page: 3, seen: ["a"] };
    await run.saveProgress(cursor);
    cursor.seen.push("mutated");
    const { ledger: next } = setup({}, records);
    await next.claim(request());
    const again = await next.reclaim("t", "k");
    expect(again).toMatchObject({ progress: { page: 3, seen: ["a"] }, attempt: 2 });
  });

  it("fails closed: no claim without storage, and a damaged record is no first run", async () => {
    const broken = new Proxy(new MemoryRecordStore(), {
      get: () => () => Promise.reject(new Error("disk full")),
    });
    await expect(setup({}, broken).ledger.claim(request())).rejects.toThrow(EffectLedgerError);
    const { ledger, records } = setup();
    await records.compareAndSet({ collection: "effects", thread: "t", key: "k" }, null, { v: 9 } as Json);
    await expect(ledger.claim(request())).rejects.toMatchObject({
      code: "EFFECT_LEDGER",
      cause: { code: "STATE_FORMAT" },
    });
  });

  it("D5, property: whatever the interleaving, crashes and storage failures, an effect happens at most once", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.constantFrom("commit", "die-before", "die-after", "refused", "timeout"), {
          minLength: 2,
          maxLength: 6,
        }),
        async (scheduler, fates) => {
          const base = new MemoryRecordStore();
          const records: RecordStore = {
            get: (key) => scheduler.schedule(Promise.resolve(), "get").then(() => base.get(key)),
            compareAndSet: (...args) =>
              scheduler.schedule(Promise.resolve(), "cas").then(() => base.compareAndSet(...args)),
            delete: (key) => base.delete(key),
            list: (collection, thread, prefix) => base.list(collection, thread, prefix),
          };
          const dead = new Set<number>();
          let effects = 0;
          const worker = async (fate: string, i: number) => {
            const ledger = new EffectLedger(
              records,
              { ...systemDeps, clock: fakeClock() },
              {
                waitMs: 0,
                owner: { ...processOwner(), pid: 10_000 + i },
                alive: (owner) => !dead.has(owner.pid - 10_000),
              },
            );
            const claim = await ledger.claim(request());
            if (claim.status !== "run") return;
            if (fate === "die-before") return void dead.add(i);
            if (fate === "refused") return void (await claim.run.fail("refused"));
            effects++;
            if (fate === "die-after") return void dead.add(i);
            if (fate === "timeout") return void (await claim.run.unknown("timeout"));
            await claim.run.commit({ ok: true, value: i });
          };
          const all = Promise.all(fates.map(worker));
          await scheduler.waitFor(all);
          expect(effects).toBeLessThanOrEqual(1);
        },
      ),
      { seed: 20, numRuns: 200 },
    );
  });
});

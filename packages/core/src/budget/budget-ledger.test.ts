import { fakeClock, seededRandom } from "@longhaul/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../json/json.ts";
import { MemoryRecordStore } from "../storage/memory-storage.ts";
import type { CompareAndSetResult, RecordKey, StoredRecord, WriteOptions } from "../storage/record-store.ts";
import { BudgetLedger } from "./budget-ledger.ts";
import { estimatedUsage, type Usage } from "./usage.ts";

const KEY = { thread: "t", run: "t:1" };
const usage = (input: number, output = 0): Usage => ({ ...estimatedUsage(input, output), estimated: 0 });

function ledgerOn(records = new MemoryRecordStore(), clock = fakeClock({ autoAdvance: true })) {
  return {
    ledger: new BudgetLedger(records, { clock, newId: () => "id", random: seededRandom(1) }),
    clock,
    records,
  };
}

/** Yields between its operations, as a database would, so that updates really race. */
class SlowRecords extends MemoryRecordStore {
  readonly #pause: () => Promise<void>;
  constructor(pause: () => Promise<void>) {
    super();
    this.#pause = pause;
  }
  override async get(key: RecordKey): Promise<StoredRecord | undefined> {
    await this.#pause();
    return super.get(key);
  }
  override async compareAndSet(
    key: RecordKey,
    expected: number | null,
    value: Json,
    options?: WriteOptions,
  ): Promise<CompareAndSetResult> {
    await this.#pause();
    return super.compareAndSet(key, expected, value, options);
  }
}

describe("BudgetLedger", () => {
  const rule = { budget: { limits: { cost: 10 }, reserve: 0 } };

  it("E5 admits exactly as many parallel calls as fit, in one process or two", async () => {
    const records = new SlowRecords(() => new Promise((resolve) => setImmediate(resolve)));
    const processes = [ledgerOn(records).ledger, ledgerOn(records).ledger];
    const [first] = processes as [BudgetLedger, BudgetLedger];
    await first.settle(KEY, "earlier", { usage: usage(1), cost: 9 });
    const admissions = await Promise.all(
      ["a", "b", "c", "d", "e"].map((id, i) =>
        (processes[i % 2] as BudgetLedger).reserve(KEY, { id, tokens: 10, cost: 0.5 }, rule),
      ),
    );
    const admitted = admissions.flatMap((admission, i) => (admission.ok ? ["abcde"[i] as string] : []));
    expect(admitted).toHaveLength(2);
    const refused = admissions.filter((admission) => !admission.ok);
    expect(
      refused.every((admission) => !admission.ok && admission.limit === "cost" && admission.left === 0),
    ).toBe(true);
    await Promise.all(admitted.map((id) => first.settle(KEY, id, { usage: usage(1), cost: 0.3 })));
    const record = await first.read(KEY);
    expect(record?.totals.cost).toBeCloseTo(9.6, 10);
    expect(record?.reservations).toEqual({});
  });

  it("E5 frees a reservation on release, and lets one that a crash left stand as spent", async () => {
    const { ledger, clock } = ledgerOn();
    await ledger.reserve(KEY, { id: "cancelled", tokens: 100 });
    await ledger.release(KEY, "cancelled");
    await ledger.reserve(KEY, { id: "crashed", tokens: 200, cost: 0.5 });
    await clock.advance(9 * 60_000);
    expect((await ledger.read(KEY))?.totals.inputTokens).toBe(0);
    await clock.advance(60_000);
    const record = await ledger.read(KEY);
    expect(record?.totals).toMatchObject({
      inputTokens: 200,
      estimatedTokens: 200,
      cost: 0.5,
      modelCalls: 1,
    });
    expect(record?.cutCalls).toBe(1);
    expect(record?.reservations).toEqual({});
  });

  it("E5 corrects what stood when a call reports after its reservation expired", async () => {
    const { ledger, clock } = ledgerOn();
    await ledger.reserve(KEY, { id: "slow", tokens: 200, cost: 2 });
    await clock.advance(11 * 60_000);
    const record = await ledger.settle(KEY, "slow", { usage: usage(50, 5), cost: 0.1 });
    expect(record.totals).toMatchObject({
      inputTokens: 50,
      outputTokens: 5,
      estimatedTokens: 0,
      modelCalls: 1,
    });
    expect(record.totals.cost).toBeCloseTo(0.1, 10);
    expect(record.cutCalls).toBe(0);
    expect(record.byKind.turn).toEqual({ calls: 1, tokens: 55 });
  });

  it("E2 counts an id once, whatever path reports it", async () => {
    const { ledger } = ledgerOn();
    for (let i = 0; i < 3; i++) await ledger.settle(KEY, "message-1", { usage: usage(10, 50) });
    expect((await ledger.read(KEY))?.totals).toMatchObject({
      inputTokens: 10,
      outputTokens: 50,
      modelCalls: 1,
    });
  });

  it("E1 stays finite when it is given nonsense", async () => {
    const { ledger } = ledgerOn();
    await ledger.reserve(KEY, { id: "a", tokens: Number.NaN, cost: Number.NEGATIVE_INFINITY });
    await ledger.settle(KEY, "a", { usage: usage(1), cost: Number.NaN });
    const { totals } = await ledger.add(KEY, { activeMs: Number.NaN });
    expect(Object.values(totals).every(Number.isFinite)).toBe(true);
  });

  it("keeps the reserve for a closing call", async () => {
    const { ledger } = ledgerOn();
    const budget = { limits: { tokens: 1_000, modelCalls: 3 }, reserve: 0.2 };
    expect(await ledger.reserve(KEY, { id: "a", tokens: 900 }, { budget })).toMatchObject({
      ok: false,
      limit: "tokens",
      left: 800,
    });
    expect(await ledger.reserve(KEY, { id: "a", tokens: 900 }, { budget, closing: true })).toMatchObject({
      ok: true,
    });
  });

  it("refuses what is beyond the number of calls or of parallel ones", async () => {
    const { ledger } = ledgerOn();
    const budget = { limits: { modelCalls: 3, concurrency: 1 }, reserve: 0 };
    await ledger.reserve(KEY, { id: "a", tokens: 1 }, { budget });
    expect(await ledger.reserve(KEY, { id: "b", tokens: 1 }, { budget })).toMatchObject({
      ok: false,
      limit: "concurrency",
    });
    await ledger.settle(KEY, "a", { usage: usage(1) });
    await ledger.settle(KEY, "b", { usage: usage(1) });
    expect(await ledger.reserve(KEY, { id: "c", tokens: 1 }, { budget })).toMatchObject({
      ok: false,
      limit: "modelCalls",
    });
  });

  it("counts tool calls up to the limit", async () => {
    const { ledger } = ledgerOn();
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => ledger.addToolCall(KEY, 3)));
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(3);
    expect((await ledger.read(KEY))?.totals.toolCalls).toBe(3);
  });

  it("never takes a damaged record for a fresh budget", async () => {
    const { ledger, records } = ledgerOn();
    await records.compareAndSet({ collection: "budgets", ...{ thread: "t", key: "t:1" } }, null, { v: 2 });
    await expect(ledger.reserve(KEY, { id: "a", tokens: 1 })).rejects.toMatchObject({ code: "STATE_FORMAT" });
    await expect(ledger.read(KEY)).rejects.toMatchObject({ code: "STATE_FORMAT" });
  });

  it("says so when a record never holds still", async () => {
    const { ledger } = ledgerOn(
      new (class extends MemoryRecordStore {
        override async compareAndSet(): Promise<CompareAndSetResult> {
          return { ok: false, current: undefined };
        }
      })(),
    );
    await expect(ledger.add(KEY, { activeMs: 1 })).rejects.toMatchObject({
      code: "BUDGET_CONTENTION",
      retryable: true,
    });
  });

  it("E5 never admits above the limit and settles to the exact sum, in any interleaving", async () => {
    const call = fc.record({
      tokens: fc.integer({ min: 1, max: 60 }),
      // Really used: at most what was reserved, so that the limit must hold exactly.
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      end: fc.constantFrom("settle", "settle twice", "release", "crash"),
      delay: fc.integer({ min: 0, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { maxLength: 14 }),
        fc.infiniteStream(fc.nat(2)),
        async (calls, pauses) => {
          const pause = async () => {
            const turns = pauses.next().value ?? 0;
            for (let i = 0; i < turns; i++) await Promise.resolve();
          };
          const records = new SlowRecords(pause);
          const clock = fakeClock({ autoAdvance: true });
          const { ledger } = ledgerOn(records, clock);
          const other = ledgerOn(records, clock).ledger;
          const budget = { limits: { tokens: 200 }, reserve: 0 };
          let expected = 0;
          await Promise.all(
            calls.map(async ({ tokens, part, end, delay }, i) => {
              const mine = i % 2 ? ledger : other;
              for (let turn = 0; turn < delay; turn++) await pause();
              const admission = await mine.reserve(KEY, { id: `c${i}`, tokens }, { budget });
              const open = Object.values(admission.record.reservations).reduce(
                (sum, each) => sum + each.tokens,
                0,
              );
              const { inputTokens, outputTokens } = admission.record.totals;
              expect(inputTokens + outputTokens + open).toBeLessThanOrEqual(200);
              if (!admission.ok) return;
              await pause();
              const used = Math.floor(tokens * part);
              if (end === "release") return void (await mine.release(KEY, `c${i}`));
              expected += end === "crash" ? tokens : used;
              if (end === "crash") return;
              await mine.settle(KEY, `c${i}`, { usage: usage(used) });
              if (end === "settle twice") await ledger.settle(KEY, `c${i}`, { usage: usage(used) });
            }),
          );
          await clock.advance(10 * 60_000);
          const totals = (await ledger.read(KEY))?.totals;
          expect(totals?.inputTokens ?? 0).toBe(expected);
        },
      ),
      { seed: 5, numRuns: 150 },
    );
  });
});

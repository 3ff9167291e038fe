import type { Deps } from "../clock.ts";
import type { Json } from "../json/json.ts";
import type { RecordKey, RecordStore } from "../storage/record-store.ts";
import { BudgetContentionError } from "./budget-errors.ts";
import type { ResolvedBudget } from "./budget-options.ts";
import { usableOf, usedOf } from "./budget-policy.ts";
import {
  type BudgetRecord,
  expireReservations,
  newRecord,
  type Reservation,
  readRecord,
  releaseReservation,
  reserved,
  type Settlement,
  settleCall,
} from "./budget-record.ts";
import type { BudgetLimitName } from "./budget-state.ts";
import type { CallKind } from "./usage.ts";

/** Address of a run's budget. */
export interface BudgetKey {
  readonly thread: string;
  /** See `budgetRunOf`. */
  readonly run: string;
}

/** What a call asks for before it starts. */
export interface Wanted {
  /** Id under which it is settled: the callback run id, say. Unique in the run. */
  readonly id: string;
  readonly tokens: number;
  /** @default 0 */
  readonly cost?: number | undefined;
  /** @default "turn" */
  readonly kind?: CallKind | undefined;
  /** @default "main" */
  readonly agent?: string | undefined;
}

/** A refusal is a value: nothing was thrown, the caller decides how its work ends. */
export type Admission =
  | { readonly ok: true; readonly record: BudgetRecord }
  | {
      readonly ok: false;
      readonly limit: BudgetLimitName;
      readonly wanted: number;
      /** What is left of that limit, others' reservations taken off. */
      readonly left: number;
      readonly record: BudgetRecord;
    };

/** Against what a reservation is checked. */
export interface AdmissionRule {
  readonly budget: Pick<ResolvedBudget, "limits" | "reserve">;
  /** The closing call may use the reserve. @default false */
  readonly closing?: boolean | undefined;
  /** What the closing call will need, where that is more than the reserve: a step that would not leave it is refused. */
  readonly keep?: { readonly tokens: number; readonly cost: number } | undefined;
}

const COLLECTION = "budgets";
/** Key of the record that names the open run of a thread. No run key begins with `@`. */
const CURRENT = "@current";
/** A call that has not reported by then was cut; see `BudgetRecord.standing`. */
const RESERVATION_MS = 10 * 60_000;
const MAX_ATTEMPTS = 500;

/**
 * Budgets of runs, shared by all tasks and processes on one storage: reserve before a call, settle after it.
 *
 * Each method is one atomic change of one small record (compare-and-set, tried again when another was faster), so parallel
 * calls cannot all pass on the same "spent so far". A reservation that is neither settled nor released within 10 minutes
 * stands as spent, so that a call cut by a kill is not free. Settling twice counts once.
 *
 * All methods throw `StateFormatError` for a damaged record (it is never taken for a fresh budget) and
 * `BudgetContentionError` when a record never holds still.
 */
export class BudgetLedger {
  readonly records: RecordStore;
  readonly deps: Deps;

  constructor(records: RecordStore, deps: Deps) {
    this.records = records;
    this.deps = deps;
  }

  /** Opens a run's budget, or finds it open, and makes it the current one of its thread. */
  async open(key: BudgetKey): Promise<BudgetRecord> {
    const pointer = await this.records.get(address(key.thread, CURRENT));
    if ((pointer?.value as { run?: string } | undefined)?.run !== key.run) {
      // Losing this race to another run of the thread is harmless: the pointer only serves calls outside any scope.
      await this.records.compareAndSet(address(key.thread, CURRENT), pointer?.version ?? null, {
        v: 1,
        run: key.run,
      });
    }
    return this.#change(key, (record) => record);
  }

  /** The run that was opened last on a thread. */
  async currentRun(thread: string): Promise<string | undefined> {
    const pointer = await this.records.get(address(thread, CURRENT));
    return (pointer?.value as { run?: string } | undefined)?.run;
  }

  /** What is in the record, with expired reservations as spent. undefined when the run was never opened. */
  async read(key: BudgetKey): Promise<BudgetRecord | undefined> {
    const stored = await this.records.get(address(key.thread, key.run));
    return stored && expireReservations(readRecord(key.run, stored.value), this.deps.clock.now());
  }

  /**
   * Reserves what a call may use. Without a rule it is always admitted: for calls that have begun and are only counted.
   * Asking again with the same id replaces the reservation.
   */
  async reserve(key: BudgetKey, wanted: Wanted, rule?: AdmissionRule): Promise<Admission> {
    const reservation: Reservation = {
      tokens: finite(wanted.tokens),
      cost: finite(wanted.cost ?? 0),
      kind: wanted.kind ?? "turn",
      agent: wanted.agent ?? "main",
      expiresAt: this.deps.clock.now() + RESERVATION_MS,
    };
    let refusal: Refusal | undefined;
    const record = await this.#change(key, (current) => {
      const others = releaseReservation(current, wanted.id);
      refusal = rule && refuse(others, reservation, rule);
      if (refusal) return current;
      return { ...others, reservations: { ...others.reservations, [wanted.id]: reservation } };
    });
    return refusal ? { ok: false, ...refusal, record } : { ok: true, record };
  }

  /** Whether a call would be admitted now; reserves nothing. */
  async fits(
    key: BudgetKey,
    wanted: { readonly tokens: number; readonly cost?: number | undefined },
    rule: AdmissionRule,
  ): Promise<boolean> {
    const record = (await this.read(key)) ?? newRecord(key.run, this.deps.clock.now());
    const asked = { tokens: finite(wanted.tokens), cost: finite(wanted.cost ?? 0) };
    return refuse(record, asked, rule) === undefined;
  }

  /** Counts what the call really used, in place of its reservation. */
  settle(
    key: BudgetKey,
    id: string,
    call: Partial<Settlement> & Pick<Settlement, "usage">,
  ): Promise<BudgetRecord> {
    const { cost = 0, kind = "turn", agent = "main" } = call;
    return this.#change(key, (record) =>
      settleCall(record, id, { ...call, cost: finite(cost), kind, agent }),
    );
  }

  /** Gives a reservation back: the call did not happen. */
  release(key: BudgetKey, id: string): Promise<BudgetRecord> {
    return this.#change(key, (record) => releaseReservation(record, id));
  }

  /** Counts one tool call, or refuses it when `limit` calls were made. */
  async addToolCall(key: BudgetKey, limit = Number.POSITIVE_INFINITY): Promise<Admission> {
    let left = 0;
    const record = await this.#change(key, (current) => {
      left = limit - current.totals.toolCalls;
      return left < 1 ? current : addTotals(current, { toolCalls: 1 });
    });
    return left < 1
      ? { ok: false, limit: "toolCalls", wanted: 1, left: Math.max(0, left), record }
      : { ok: true, record };
  }

  /** Adds active milliseconds and finished agent steps. */
  add(
    key: BudgetKey,
    work: { readonly activeMs?: number; readonly agentSteps?: number },
  ): Promise<BudgetRecord> {
    return this.#change(key, (record) => addTotals(record, work));
  }

  /** Enters a phase on purpose; what the one before it left goes to it. */
  enterPhase(key: BudgetKey, phase: string): Promise<BudgetRecord> {
    return this.#change(key, (record) => ({ ...record, phase }));
  }

  async #change(key: BudgetKey, update: (record: BudgetRecord) => BudgetRecord): Promise<BudgetRecord> {
    const at = address(key.thread, key.run);
    let stored = await this.records.get(at);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const now = this.deps.clock.now();
      const before = stored ? readRecord(key.run, stored.value) : newRecord(key.run, now);
      const after = update(expireReservations(before, now));
      if (stored && after === before) return after;
      const written = await this.records.compareAndSet(at, stored?.version ?? null, after as unknown as Json);
      if (written.ok) return after;
      stored = written.current;
      // A few tries at once, then apart from the others.
      if (attempt % 10 === 0) await this.deps.clock.sleep(1 + this.deps.random() * attempt);
    }
    throw new BudgetContentionError({ run: key.run, attempts: MAX_ATTEMPTS });
  }
}

interface Refusal {
  readonly limit: BudgetLimitName;
  readonly wanted: number;
  readonly left: number;
}

function refuse(
  record: BudgetRecord,
  asked: Pick<Reservation, "tokens" | "cost">,
  rule: AdmissionRule,
): Refusal | undefined {
  const { limits, reserve } = rule.budget;
  const open = reserved(record);
  const asks: readonly [BudgetLimitName, number, number, number][] = [
    ["tokens", asked.tokens, open.tokens, rule.keep?.tokens ?? 0],
    ["cost", asked.cost, open.cost, rule.keep?.cost ?? 0],
    ["modelCalls", 1, open.calls, 0],
  ];
  for (const [limit, wanted, pending, kept] of asks) {
    const of = limits[limit];
    if (of === undefined) continue;
    const allowed = rule.closing ? of : Math.min(usableOf(limit, of, reserve), of - kept);
    const left = allowed - usedOf(limit, record.totals) - pending;
    // Sums of prices are not exact: a thousandth of a millionth of the limit is not an overspending.
    if (wanted > left + of * 1e-9) return { limit, wanted, left: Math.max(0, left) };
  }
  const { concurrency } = limits;
  if (concurrency !== undefined && open.calls >= concurrency) {
    return { limit: "concurrency", wanted: 1, left: 0 };
  }
  return undefined;
}

function addTotals(
  record: BudgetRecord,
  work: { readonly toolCalls?: number; readonly activeMs?: number; readonly agentSteps?: number },
): BudgetRecord {
  const { totals } = record;
  return {
    ...record,
    totals: {
      ...totals,
      toolCalls: totals.toolCalls + (work.toolCalls ?? 0),
      activeMs: totals.activeMs + finite(work.activeMs ?? 0),
      agentSteps: totals.agentSteps + (work.agentSteps ?? 0),
    },
  };
}

/** A sum that once took NaN in is lost for ever: nothing that is no amount gets in. */
function finite(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0;
}

function address(thread: string, key: string): RecordKey {
  return { collection: COLLECTION, thread, key };
}

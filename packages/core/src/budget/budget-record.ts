import type { Json } from "../json/json.ts";
import { damagedRecord } from "./budget-errors.ts";
import { type BudgetTotals, readTotals, ZERO_TOTALS } from "./budget-state.ts";
import type { CallKind, Usage } from "./usage.ts";

/** What a call that is running may use; counted against the limits until it is settled. */
export interface Reservation {
  readonly tokens: number;
  readonly cost: number;
  readonly kind: CallKind;
  readonly agent: string;
  readonly expiresAt: number;
}

/** What a call really used. */
export interface Settlement {
  readonly usage: Usage;
  readonly cost: number;
  readonly kind: CallKind;
  readonly agent: string;
  /** The call finished, and its provider reported no usable figures. */
  readonly unmeasured?: boolean | undefined;
}

/** Spending of a kind of call, or of one agent without its subagents. */
interface Share {
  readonly calls: number;
  readonly tokens: number;
}

/** One run's budget in storage: collection `budgets`, one record a run, changed by compare-and-set. */
export interface BudgetRecord {
  readonly v: 1;
  readonly run: string;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly totals: BudgetTotals;
  readonly byKind: Readonly<Partial<Record<CallKind, Share>>>;
  readonly byAgent: Readonly<Record<string, Share>>;
  readonly reservations: Readonly<Record<string, Reservation>>;
  /** Reservations that expired and stand as spent, in the totals, until the call reports after all. The newest 50. */
  readonly standing: Readonly<Record<string, Reservation>>;
  /** Calls whose usage was a stood reservation, as they were cut by a kill. */
  readonly cutCalls: number;
  /** Finished calls for which the provider reported no usable figures. */
  readonly unmeasuredCalls: number;
  /** Ids settled last, newest at the end: a call that is reported twice counts once. At most 200. */
  readonly settled: readonly string[];
  /** Phase entered on purpose. */
  readonly phase?: string | undefined;
}

const KEEP_SETTLED = 200;
const KEEP_STANDING = 50;

export function newRecord(run: string, now: number): BudgetRecord {
  return {
    v: 1,
    run,
    openedAt: now,
    totals: ZERO_TOTALS,
    byKind: {},
    byAgent: {},
    reservations: {},
    standing: {},
    cutCalls: 0,
    unmeasuredCalls: 0,
    settled: [],
  };
}

/** @throws StateFormatError */
export function readRecord(run: string, value: Json): BudgetRecord {
  const record = value as unknown as Partial<BudgetRecord>;
  const fail = (): never => {
    throw damagedRecord(run, value);
  };
  if (typeof value !== "object" || value === null || record.v !== 1) return fail();
  if (typeof record.openedAt !== "number" || !Array.isArray(record.settled)) return fail();
  for (const part of [record.byKind, record.byAgent, record.reservations, record.standing]) {
    if (typeof part !== "object" || part === null) return fail();
  }
  return { ...(record as BudgetRecord), totals: readTotals(record.totals, fail) };
}

/** Reservations whose time is over stand as spent from now on. */
export function expireReservations(record: BudgetRecord, now: number): BudgetRecord {
  const over = Object.entries(record.reservations).filter(([, reservation]) => reservation.expiresAt <= now);
  if (over.length === 0) return record;
  const gone = new Set(over.map(([id]) => id));
  let next: BudgetRecord = { ...record, cutCalls: record.cutCalls + over.length };
  for (const [, reservation] of over) next = book(next, reservation, estimated(reservation), 1);
  return {
    ...next,
    reservations: without(record.reservations, gone),
    standing: Object.fromEntries([...Object.entries(record.standing), ...over].slice(-KEEP_STANDING)),
  };
}

/** Counts what a call really used and drops its reservation, or takes back what stood for it. Twice is once. */
export function settleCall(record: BudgetRecord, id: string, call: Settlement): BudgetRecord {
  if (record.settled.includes(id)) return record;
  const stood = record.standing[id];
  let next = stood ? book({ ...record, cutCalls: record.cutCalls - 1 }, stood, estimated(stood), -1) : record;
  next = book(next, call, { usage: call.usage, cost: call.cost }, 1);
  return {
    ...next,
    reservations: without(next.reservations, new Set([id])),
    standing: without(next.standing, new Set([id])),
    unmeasuredCalls: next.unmeasuredCalls + (call.unmeasured ? 1 : 0),
    settled: [...next.settled, id].slice(-KEEP_SETTLED),
  };
}

/** Drops a reservation for which nothing was used. */
export function releaseReservation(record: BudgetRecord, id: string): BudgetRecord {
  return { ...record, reservations: without(record.reservations, new Set([id])) };
}

/** Open reservations, summed. */
export function reserved(record: BudgetRecord): { tokens: number; cost: number; calls: number } {
  const open = Object.values(record.reservations);
  return {
    tokens: open.reduce((sum, { tokens }) => sum + tokens, 0),
    cost: open.reduce((sum, { cost }) => sum + cost, 0),
    calls: open.length,
  };
}

interface Spending {
  readonly usage: Usage;
  readonly cost: number;
}

function estimated(reservation: Reservation): Spending {
  const { tokens, cost } = reservation;
  const usage = {
    input: tokens,
    output: 0,
    cached: 0,
    cacheWrite: 0,
    reasoning: 0,
    estimated: tokens,
    suspect: false,
  };
  return { usage, cost };
}

function book(
  record: BudgetRecord,
  of: { readonly kind: CallKind; readonly agent: string },
  { usage, cost }: Spending,
  sign: 1 | -1,
): BudgetRecord {
  const { totals } = record;
  const add = (before: number, value: number) => Math.max(0, before + sign * value);
  return {
    ...record,
    totals: {
      ...totals,
      inputTokens: add(totals.inputTokens, usage.input),
      outputTokens: add(totals.outputTokens, usage.output),
      cachedTokens: add(totals.cachedTokens, usage.cached),
      cacheWriteTokens: add(totals.cacheWriteTokens, usage.cacheWrite),
      reasoningTokens: add(totals.reasoningTokens, usage.reasoning),
      estimatedTokens: add(totals.estimatedTokens, usage.estimated),
      cost: add(totals.cost, cost),
      modelCalls: add(totals.modelCalls, 1),
    },
    byKind: { ...record.byKind, [of.kind]: addShare(record.byKind[of.kind], usage, sign) },
    byAgent: { ...record.byAgent, [of.agent]: addShare(record.byAgent[of.agent], usage, sign) },
  };
}

function addShare(share: Share | undefined, usage: Usage, sign: 1 | -1): Share {
  return {
    calls: Math.max(0, (share?.calls ?? 0) + sign),
    tokens: Math.max(0, (share?.tokens ?? 0) + sign * (usage.input + usage.output)),
  };
}

function without<T>(entries: Readonly<Record<string, T>>, gone: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([id]) => !gone.has(id)));
}

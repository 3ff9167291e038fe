import type { ResolvedBudget } from "./budget-options.ts";

export interface PhasePosition {
  readonly phase: string;
  /** Less than 15 % of the phase's own share is left, and it is not the last. */
  readonly nearEnd: boolean;
  readonly next?: string | undefined;
}

/** Part of a phase's share below which its end is announced. */
const WARN_AT = 0.15;

/**
 * Phase at a used share of the budget. Ends are cumulative, so what a phase leaves when the next is entered early goes to
 * the next by itself, and a phase that reaches its end is over: it cannot borrow, unless `borrow` is set.
 *
 * @param share used part of (limit − reserve) of the nearest limit
 * @param entered name of a phase that was entered on purpose
 */
export function phaseAt(
  budget: Pick<ResolvedBudget, "phases" | "borrow">,
  share: number,
  entered?: string | undefined,
): PhasePosition | undefined {
  const { phases } = budget;
  if (phases.length === 0) return undefined;
  const ends = phases.map((_, index) =>
    phases.slice(0, index + 1).reduce((sum, phase) => sum + phase.share, 0),
  );
  const chosen = Math.max(
    0,
    phases.findIndex((phase) => phase.name === entered),
  );
  const due = ends.findIndex((end) => share < end - 1e-9);
  const byShare = due === -1 ? phases.length - 1 : due;
  const index = budget.borrow ? chosen : Math.max(chosen, byShare);
  const phase = phases[index] as (typeof phases)[number];
  const next = phases[index + 1]?.name;
  const left = (ends[index] as number) - share;
  return { phase: phase.name, next, nearEnd: next !== undefined && left < phase.share * WARN_AT };
}

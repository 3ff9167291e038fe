import { BudgetLedger } from "../budget/budget-ledger.ts";
import { type Deps, withSystemDeps } from "../clock.ts";
import { EffectLedger } from "../effects/effect-ledger.ts";
import { LeaseStore } from "../recovery/lease-store.ts";
import { RunStore } from "../recovery/run-store.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import type { RecordStore } from "./record-store.ts";

/** The ledgers and stores that Longhaul keeps outside the graph's state. A `CompactSaver` is one. */
export interface LonghaulStorage {
  readonly records: RecordStore;
  readonly effects: EffectLedger;
  readonly budgets: BudgetLedger;
  readonly runs: RunStore;
  readonly leases: LeaseStore;
  readonly artifacts: ArtifactStore;
  /** Whether what is written here is there after the process died. */
  readonly survivesProcess: boolean;
}

/** Builds the ledgers over the two ports. */
export function createStorage(parts: {
  readonly records: RecordStore;
  readonly artifacts: ArtifactStore;
  readonly survivesProcess: boolean;
  readonly deps?: Partial<Deps>;
}): LonghaulStorage {
  const deps = withSystemDeps(parts.deps);
  return {
    records: parts.records,
    artifacts: parts.artifacts,
    survivesProcess: parts.survivesProcess,
    effects: new EffectLedger(parts.records, deps),
    budgets: new BudgetLedger(parts.records, deps),
    runs: new RunStore(parts.records, deps),
    leases: new LeaseStore(parts.records, deps),
  };
}

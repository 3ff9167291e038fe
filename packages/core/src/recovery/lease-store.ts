import type { Deps } from "../clock.ts";
import type { RecordStore } from "../storage/record-store.ts";

/** Contract placeholder, replaced by the recovery concern. */
export class LeaseStore {
  readonly records: RecordStore;
  readonly deps: Deps;
  constructor(records: RecordStore, deps: Deps) {
    this.records = records;
    this.deps = deps;
  }
}

import type { Deps, EventSink, LonghaulStorage } from "@longhaul/core";

/** Options that every middleware of Longhaul takes. `longhaul()` passes the same to all. */
export interface CommonOptions {
  /** Where ledgers and artifacts live. @default in memory: effects do not survive the process, and an event says so */
  readonly storage?: LonghaulStorage | undefined;
  /** Receives operators' events; called synchronously, must be quick and not throw. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, ids, random; for tests. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
}

import type { LonghaulEvent } from "@longhaul/core";
import type { CountedCall } from "../../shared/token-costs.ts";
import type { DemoPart } from "./demo-options.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Kill } from "./kill-plan.ts";

/** What an agent process is started with, as JSON in its first argument. */
export interface AgentConfig {
  readonly form: "createAgent" | "graph" | "baseline";
  readonly endpoint: Endpoint;
  readonly folder: string;
  readonly seed: number;
  readonly window: number;
  /** Caps of recoveries: kills + 2. */
  readonly cap: number;
  /** Waits before a recovery, milliseconds. @default the supervisor's own */
  readonly waitsMs?: readonly number[] | undefined;
  readonly kill?: Kill | undefined;
  readonly without: readonly DemoPart[];
}

/** What an agent process tells its parent. */
export type AgentMessage =
  | { readonly type: "event"; readonly event: LonghaulEvent }
  /** A model call that the baseline made; under Longhaul it is an event. */
  | { readonly type: "call"; readonly call: CountedCall }
  | { readonly type: "ended"; readonly end: AgentEnd };

/** What a parent tells its agent process: to pause at the next step. */
export interface AgentOrder {
  readonly type: "pause";
}

export interface AgentEnd {
  readonly status: string;
  readonly stopReason?: string | undefined;
  /** Text of the last assistant message. */
  readonly answer: string;
  /** Assistant messages in the state. */
  readonly steps: number;
  readonly resets: number;
  /** Why it did not complete. */
  readonly failure?: string | undefined;
}

import type { LonghaulEvent } from "@longhaul/core";
import type { DemoPart } from "./demo-options.ts";
import type { Kill } from "./kill-plan.ts";

/** Where the model is. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string;
}

/** What an agent process is started with, as JSON in its first argument. */
export interface AgentConfig {
  readonly form: "createAgent" | "graph" | "baseline";
  readonly endpoint: Endpoint;
  readonly folder: string;
  readonly seed: number;
  readonly window: number;
  /** Caps of recoveries: kills + 2. */
  readonly cap: number;
  readonly kill?: Kill | undefined;
  readonly without: readonly DemoPart[];
}

/** What an agent process tells its parent. */
export type AgentMessage =
  | { readonly type: "event"; readonly event: LonghaulEvent }
  | { readonly type: "ended"; readonly end: AgentEnd };

export interface AgentEnd {
  readonly status: string;
  readonly stopReason?: string | undefined;
  /** Text of the last assistant message. */
  readonly answer: string;
  /** Assistant messages in the state. */
  readonly steps: number;
  readonly resets: number;
  readonly failure?: string | undefined;
}

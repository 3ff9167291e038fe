import type { LoopKind, LoopReason } from "./observation.ts";

interface Raised {
  readonly kind: LoopKind;
  readonly reason: LoopReason;
  readonly evidence: string;
}

/** Events of this concern. */
export type LoopEvent =
  | ({ readonly type: "loop.hint" } & Raised)
  /** From now on the repeated calls are answered with an error instead of being run. */
  | ({ readonly type: "loop.block" } & Raised)
  | ({ readonly type: "loop.stop" } & Raised)
  /** One call was answered with an error instead of being run. */
  | { readonly type: "loop.blocked"; readonly tool: string }
  /** The model answered with neither a call nor anything to say, and was asked to go on. */
  | { readonly type: "loop.nudge"; readonly times: number };

import type { LoopKind, LoopReason } from "./observation.ts";

/** Events of this concern. */
export type LoopEvent =
  | {
      /** `block`: from now on the repeated calls are answered with an error instead of being run. */
      readonly type: "loop.hint" | "loop.block" | "loop.stop";
      readonly kind: LoopKind;
      readonly reason: LoopReason;
      readonly evidence: string;
    }
  /** One call was answered with an error instead of being run. */
  | { readonly type: "loop.blocked"; readonly tool: string }
  /** The model answered with neither a call nor anything to say, and was asked to go on. */
  | { readonly type: "loop.nudge"; readonly times: number };

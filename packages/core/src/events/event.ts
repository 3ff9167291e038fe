import type { BudgetEvent } from "../budget/budget-events.ts";
import type { ContextEvent } from "../context/context-events.ts";
import type { EffectEvent } from "../effects/effect-events.ts";
import type { LoopEvent } from "../loops/loop-events.ts";
import type { ProgressEvent } from "../progress/progress-events.ts";
import type { RecoveryEvent } from "../recovery/recovery-events.ts";
import type { RunEvent } from "../run/run-events.ts";
import type { SummaryEvent } from "../summary/summary-events.ts";
import type { ToolEvent } from "../tools/tool-events.ts";
import type { CheckpointEvent } from "./checkpoint-events.ts";

/** Where and when something happened. */
export interface EventOrigin {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly threadId: string;
  /** Checkpoint namespace, `""` at the root. */
  readonly namespace: string;
  /** Agent step, where known. */
  readonly step?: number | undefined;
}

/** Something that an operator may want to know. None of it reaches a model. */
export type LonghaulEvent = EventOrigin &
  (
    | ContextEvent
    | SummaryEvent
    | ProgressEvent
    | LoopEvent
    | EffectEvent
    | BudgetEvent
    | RunEvent
    | RecoveryEvent
    | ToolEvent
    | CheckpointEvent
  );

/** Receives every event. Must not throw; what it throws is swallowed, an operator's log cannot end a run. */
export type EventSink = (event: LonghaulEvent) => void;

export type EventBody = LonghaulEvent extends infer E
  ? E extends EventOrigin
    ? Omit<E, keyof EventOrigin>
    : never
  : never;
/** Emits with the origin filled in. */
export type Emit = (event: EventBody) => void;

/** Binds a sink to an origin. */
export function emitter(sink: EventSink | undefined, origin: () => EventOrigin): Emit {
  return (body) => {
    if (!sink) return;
    try {
      sink({ ...origin(), ...body } as LonghaulEvent);
    } catch {
      // see EventSink: a log that fails is not a reason to stop the agent
    }
  };
}

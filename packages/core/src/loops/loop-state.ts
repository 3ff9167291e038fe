import { z } from "zod/v4";
import { StateFormatError } from "../errors.ts";

/** Rungs of the ladder, in order. */
export type LoopRung = "hint" | "block" | "stop";

/** One call and what came of it. */
export interface ObservedAction {
  readonly tool: string;
  /** Digest of tool, server, version and canonical arguments. */
  readonly action: string;
  /** Digest of the normalised result. */
  readonly outcome: string;
  /** Agent step, counted from the first that was observed in this run. */
  readonly step: number;
  /** What the result is, where that matters: an error, "there is nothing", or a service that is down. */
  readonly kind?: "error" | "nothing" | "unavailable" | undefined;
  readonly poll?: boolean | undefined;
  /** A call of a tool with a declared effect, that succeeded. */
  readonly wrote?: boolean | undefined;
  /** It was not run: the ladder's block answered it. */
  readonly blocked?: boolean | undefined;
  /** It brought something new. */
  readonly moved?: boolean | undefined;
  /** Digests of its text arguments: what it reads or writes. Only where effects are declared. */
  readonly targets?: readonly string[] | undefined;
}

/** How far up the ladder one loop is. */
export interface RaisedRung {
  readonly rung: LoopRung;
  /** Step at which it was raised. */
  readonly step: number;
  /** Step at which the loop was last there; one that was left starts again at the bottom. */
  readonly last: number;
  /** Actions that the block refuses. */
  readonly actions: readonly string[];
}

/** Channel `_longhaulLoops`: all that the detector remembers of a run. About 4 kB when full. */
export interface LoopState {
  readonly v: 1;
  /** Human message that began the run; another one begins with an empty state. */
  readonly turn?: string | undefined;
  /** Last assistant message that was observed. */
  readonly seen?: string | undefined;
  /** The batch that is being observed: assistant message, or what the caller named. */
  readonly group?: string | undefined;
  /** Agent steps observed. */
  readonly steps: number;
  /** Actions observed. */
  readonly actions: number;
  /** Last actions, oldest first; within a batch sorted, so that its order does not matter. */
  readonly window: readonly ObservedAction[];
  /** Digests of the last 100 different outcomes. */
  readonly outcomes: readonly string[];
  /** Finished steps in a row without progress. */
  readonly still: number;
  /** The running step: has it moved, stood still, or only waited? */
  readonly mood: "moved" | "still" | "neutral";
  /** Ladder by loop. */
  readonly rungs: Readonly<Record<string, RaisedRung>>;
  /** Sketches of the texts of the last steps, oldest first. */
  readonly texts: readonly string[];
  /** Answers in a row with neither a call nor anything to say. */
  readonly idleReplies: number;
}

/** State of a run of which nothing was observed yet. */
export function loopState(): LoopState {
  return {
    v: 1,
    steps: 0,
    actions: 0,
    window: [],
    outcomes: [],
    still: 0,
    mood: "neutral",
    rungs: {},
    texts: [],
    idleReplies: 0,
  };
}

const text = z.string();
const count = z.number().int().min(0);
const flag = z.boolean().optional();
const format = z.object({
  v: z.literal(1),
  turn: text.optional(),
  seen: text.optional(),
  group: text.optional(),
  steps: count,
  actions: count,
  window: z.array(
    z.object({
      tool: text,
      action: text,
      outcome: text,
      step: count,
      kind: z.enum(["error", "nothing", "unavailable"]).optional(),
      poll: flag,
      wrote: flag,
      blocked: flag,
      moved: flag,
      targets: z.array(text).optional(),
    }),
  ),
  outcomes: z.array(text),
  still: count,
  mood: z.enum(["moved", "still", "neutral"]),
  rungs: z.record(
    text,
    z.object({ rung: z.enum(["hint", "block", "stop"]), step: count, last: count, actions: z.array(text) }),
  ),
  texts: z.array(text),
  idleReplies: count,
});

/**
 * The channel's value, checked; a thread without one starts empty.
 * @throws StateFormatError when it is damaged or of a newer version.
 */
export function readLoops(value: unknown): LoopState {
  if (value === undefined || value === null) return loopState();
  const parsed = format.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new StateFormatError({
    channel: "_longhaulLoops",
    found: value,
    expected: "loop state of version 1",
    cause: parsed.error,
  });
}

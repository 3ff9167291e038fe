import { InvalidOptionsError } from "../errors.ts";
import { isAnnouncement } from "./announcement.ts";
import { normaliseResult } from "./normalise-result.ts";

/** What the detector reads of a tool's options. */
export interface LoopToolOptions {
  /** Anything but `"none"` makes a successful call a write, which is progress. @default unknown: judged by its results */
  readonly effect?: "none" | "key" | "query" | "record" | undefined;
  /** The tool is called again and again on purpose. Never guessed. @default none */
  readonly poll?:
    | {
        /** Milliseconds between two calls, named in the hint. @default none */
        readonly every?: number | undefined;
        /** Unchanged results in a row before the hint. Minimum 1. @default 5 */
        readonly atMost?: number | undefined;
      }
    | undefined;
  readonly version?: string | undefined;
  readonly server?: string | undefined;
}

/** Thresholds of one signal; `Infinity` turns a rung off. Each at least 1, none below the one before. */
export interface LoopThresholds {
  readonly hint?: number | undefined;
  readonly block?: number | undefined;
  readonly stop?: number | undefined;
}

/**
 * Options of loop detection. The defaults were chosen on recorded runs, so that few runs that would have ended well are
 * stopped. Cost: about 4 kB of state, and below 0.1 ms for each action.
 */
export interface LoopOptions {
  /** Actions remembered. Minimum: `maxPeriod` × the largest finite threshold of a cycle. @default 25 */
  readonly window?: number | undefined;
  /** Longest cycle looked for, in actions. Minimum 1. @default 5 */
  readonly maxPeriod?: number | undefined;
  /** Repetitions of a cycle with the same results. @default { hint: 3, block: 4, stop: 5 } */
  readonly cycle?: LoopThresholds | undefined;
  /** Repetitions of a cycle whatever the results. @default { hint: 4, stop: 5 } */
  readonly actions?: Omit<LoopThresholds, "block"> | undefined;
  /** Steps with the same error of one tool and no progress between. @default { hint: 3, stop: 5 } */
  readonly errors?: Omit<LoopThresholds, "block"> | undefined;
  /** Steps in a row without progress. @default { hint: 5, stop: 7 } */
  readonly noProgress?: Omit<LoopThresholds, "block"> | undefined;
  /** Calls in a row answered by 429 or 503; the tool's own retry comes first. @default { hint: 5, stop: 10 } */
  readonly unavailable?: Omit<LoopThresholds, "block"> | undefined;
  /** Similarity (0 to 1) of the texts of three steps in a row that brings a hint; above 1 turns it off. @default 0.95 */
  readonly similarity?: number | undefined;
  /** How often the model is asked to go on after an empty answer, in a row. Minimum 0. @default 2 */
  readonly nudges?: number | undefined;
  /** What is said then. @default see `NUDGE` */
  readonly nudgeText?: string | undefined;
  /** Masks what changes without meaning anything. Must be pure and linear. @default `normaliseResult` */
  readonly normalise?: ((text: string, isError: boolean) => string) | undefined;
  /** Whether an answer without calls only announces that work goes on. Must be pure. @default `isAnnouncement` */
  readonly announces?: ((text: string) => boolean) | undefined;
  /** Options by tool name; the same object as the other concerns take. @default {} */
  readonly tools?: Readonly<Record<string, LoopToolOptions>> | undefined;
}

export interface Ladder {
  readonly hint: number;
  readonly block: number;
  readonly stop: number;
}

export interface ResolvedLoopOptions {
  readonly window: number;
  readonly maxPeriod: number;
  readonly cycle: Ladder;
  readonly actions: Ladder;
  readonly errors: Ladder;
  readonly noProgress: Ladder;
  readonly unavailable: Ladder;
  readonly similarity: number;
  readonly nudges: number;
  readonly nudgeText: string;
  readonly normalise: (text: string, isError: boolean) => string;
  readonly announces: (text: string) => boolean;
  readonly tools: Readonly<Record<string, LoopToolOptions>>;
  /** Some tool has a declared effect: only then are targets worth remembering. */
  readonly declaresEffects: boolean;
}

/** What the model is told after an answer with neither a call nor anything to say. */
export const NUDGE: string =
  "Your last answer held neither a tool call nor a result, so nothing happened. " +
  "Call the next tool now, or give your final answer; if you are stuck, say what is missing.";

const resolved = new WeakMap<LoopOptions, ResolvedLoopOptions>();
const NO_OPTIONS: LoopOptions = {};

/**
 * Resolved once for each options object: `observeAction` takes plain options and is called for every action.
 * @throws InvalidOptionsError at once for a value that cannot work.
 */
export function resolveLoopOptions(options: LoopOptions = NO_OPTIONS): ResolvedLoopOptions {
  let known = resolved.get(options);
  if (!known) {
    known = resolve(options);
    resolved.set(options, known);
  }
  return known;
}

function resolve(options: LoopOptions): ResolvedLoopOptions {
  const tools = options.tools ?? {};
  const result: ResolvedLoopOptions = {
    window: integer("window", options.window ?? 25, 1),
    maxPeriod: integer("maxPeriod", options.maxPeriod ?? 5, 1),
    cycle: ladder("cycle", options.cycle, { hint: 3, block: 4, stop: 5 }),
    actions: ladder("actions", options.actions, { hint: 4, stop: 5 }),
    errors: ladder("errors", options.errors, { hint: 3, stop: 5 }),
    noProgress: ladder("noProgress", options.noProgress, { hint: 5, stop: 7 }),
    unavailable: ladder("unavailable", options.unavailable, { hint: 5, stop: 10 }),
    similarity: options.similarity ?? 0.95,
    nudges: integer("nudges", options.nudges ?? 2, 0),
    nudgeText: options.nudgeText ?? NUDGE,
    normalise: options.normalise ?? normaliseResult,
    announces: options.announces ?? isAnnouncement,
    tools,
    declaresEffects: Object.values(tools).some(({ effect }) => effect !== undefined && effect !== "none"),
  };
  if (!(result.similarity > 0)) {
    throw new InvalidOptionsError({ option: "similarity", value: result.similarity, expected: "above 0" });
  }
  const longest = Math.max(
    ...[result.cycle, result.actions].flatMap(({ hint, block, stop }) =>
      [hint, block, stop].filter(Number.isFinite),
    ),
  );
  integer("window", result.window, result.maxPeriod * Math.max(longest, 1));
  for (const [name, { poll }] of Object.entries(tools)) {
    if (poll?.atMost !== undefined) integer(`tools.${name}.poll.atMost`, poll.atMost, 1);
  }
  return result;
}

function ladder(option: string, given: LoopThresholds | undefined, defaults: LoopThresholds): Ladder {
  const hint = threshold(`${option}.hint`, given?.hint ?? defaults.hint, 1);
  const block = threshold(`${option}.block`, given?.block ?? defaults.block, hint);
  const stop = threshold(`${option}.stop`, given?.stop ?? defaults.stop, hint);
  return { hint, block, stop };
}

function threshold(option: string, value: number | undefined, minimum: number): number {
  if (value === undefined || value === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  return integer(option, value, Number.isFinite(minimum) ? minimum : 1);
}

function integer(option: string, value: number, minimum: number): number {
  if (!Number.isSafeInteger(value) || value < minimum) {
    throw new InvalidOptionsError({ option, value, expected: `an integer of at least ${minimum}` });
  }
  return value;
}

import { type Deps, withSystemDeps } from "../clock.ts";
import { InvalidOptionsError } from "../errors.ts";
import type { EventSink } from "../events/event.ts";

/** Options of the checkpoint and reset tools. Both tools of an agent must be given the same. */
export interface ProgressOptions {
  /** Name of the checkpoint tool, as the model sees it. @default "checkpoint" */
  readonly checkpointName?: string | undefined;
  /** Name of the reset tool, as the model sees it. @default "reset" */
  readonly resetName?: string | undefined;
  /**
   * Largest saved checkpoint, in characters of its JSON. Minimum 200. It stands in every request until the next
   * checkpoint: 2,000 characters are about 500 tokens of English, 2,000 of Chinese.
   * @default 2000
   */
  readonly maxCharacters?: number | undefined;
  /** The checkpoint without anything new, in a row, that ends the run; the ones before are warned or refused. Minimum 2. @default 3 */
  readonly idleCheckpoints?: number | undefined;
  /** Receives operators' events. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, for the time of events. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
}

export interface ResolvedProgressOptions {
  readonly checkpointName: string;
  readonly resetName: string;
  readonly maxCharacters: number;
  readonly idleCheckpoints: number;
  readonly events: EventSink | undefined;
  readonly deps: Deps;
}

/** @throws InvalidOptionsError at once for a value that cannot work. */
export function resolveProgressOptions(options: ProgressOptions = {}): ResolvedProgressOptions {
  const resolved: ResolvedProgressOptions = {
    checkpointName: options.checkpointName ?? "checkpoint",
    resetName: options.resetName ?? "reset",
    maxCharacters: options.maxCharacters ?? 2_000,
    idleCheckpoints: options.idleCheckpoints ?? 3,
    events: options.events,
    deps: withSystemDeps(options.deps),
  };
  for (const option of ["checkpointName", "resetName"] as const) {
    // the intersection of what OpenAI, Anthropic and Gemini accept as a tool name
    if (!/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(resolved[option])) {
      throw new InvalidOptionsError({
        option,
        value: resolved[option],
        expected: "a tool name: a letter or _, then up to 62 letters, digits, _ or -",
      });
    }
  }
  if (resolved.checkpointName === resolved.resetName) {
    throw new InvalidOptionsError({
      option: "resetName",
      value: resolved.resetName,
      expected: "another name than that of the checkpoint tool",
    });
  }
  checkInteger("maxCharacters", resolved.maxCharacters, 200);
  checkInteger("idleCheckpoints", resolved.idleCheckpoints, 2);
  return resolved;
}

function checkInteger(option: string, value: number, minimum: number): void {
  if (!Number.isSafeInteger(value) || value < minimum) {
    throw new InvalidOptionsError({ option, value, expected: `an integer of at least ${minimum}` });
  }
}

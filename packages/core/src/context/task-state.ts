import { StateFormatError } from "../errors.ts";

/** Channel `_longhaulTask`. */
export interface TaskState {
  readonly v: 1;
  /** First human message of the thread, verbatim. Immutable. */
  readonly goal: { readonly messageId: string; readonly text: string };
  /** Prohibitions found in human turns and constraints given in options; verbatim sentences. */
  readonly constraints: readonly string[];
  /** Later human turns, oldest first; old ones keep only the artifact reference. */
  readonly directions: readonly {
    readonly messageId: string;
    readonly text?: string | undefined;
    readonly ref?: string | undefined;
  }[];
  /** Number of human turns so far, archived ones included. */
  readonly humanTurns: number;
}

/**
 * Reads the channel as it came from a checkpoint.
 * @throws StateFormatError when it is there and not readable
 */
export function readTaskState(value: unknown): TaskState | undefined {
  if (value === undefined || value === null) return undefined;
  const found = value as Partial<TaskState>;
  if (
    typeof value !== "object" ||
    found.v !== 1 ||
    typeof found.goal?.text !== "string" ||
    !Array.isArray(found.constraints) ||
    !Array.isArray(found.directions) ||
    typeof found.humanTurns !== "number"
  ) {
    throw new StateFormatError({ channel: "_longhaulTask", found: value, expected: "version 1" });
  }
  return value as TaskState;
}

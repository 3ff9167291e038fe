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
    readonly text?: string;
    readonly ref?: string;
  }[];
  /** Number of human turns so far, archived ones included. */
  readonly humanTurns: number;
}

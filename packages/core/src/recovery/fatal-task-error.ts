import { hasErrorCode, LonghaulError } from "../errors.ts";

/**
 * Thrown by a tool or node when the task itself is hopeless: contradictory goal, missing rights, a resource that is gone for
 * good. `superviseRun` ends the run as FAILED at once, without a retry. For what the model can repair (wrong arguments, an
 * empty result), return an error result instead.
 */
export class FatalTaskError extends LonghaulError {
  readonly code = "FATAL_TASK";

  static override isInstance(error: unknown): error is FatalTaskError {
    return hasErrorCode(error, "FATAL_TASK");
  }
}

import { hasErrorCode, LonghaulError } from "../errors.ts";
import type { RunStatus } from "./run-state.ts";

/** A move between states, or an action in a state, that the run machine does not allow. A defect, never worth a retry. */
export class ForbiddenMoveError extends LonghaulError {
  readonly code = "FORBIDDEN_MOVE";
  readonly from: RunStatus;
  /** The state wanted, or the action that is not permitted in `from`. */
  readonly wanted: string;

  constructor(fields: {
    readonly from: RunStatus;
    readonly wanted: string;
    readonly allowed: readonly string[];
  }) {
    super(
      `A run that is ${fields.from} does not allow \`${fields.wanted}\`; allowed: ${fields.allowed.join(", ") || "nothing"}. ` +
        "Look for other middleware that changes an answer behind the run status, or for a state edited by hand.",
    );
    this.from = fields.from;
    this.wanted = fields.wanted;
  }

  static override isInstance(error: unknown): error is ForbiddenMoveError {
    return hasErrorCode(error, "FORBIDDEN_MOVE");
  }
}

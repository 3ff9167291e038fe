import { hasErrorCode, LonghaulError, StateFormatError } from "../errors.ts";
import type { BudgetLimitName } from "./budget-state.ts";

/**
 * A limit is smaller than one agent step and the closing call need, so the run could only end badly. Thrown when the
 * option is given, or, for LangGraph's `recursionLimit`, before the first model call.
 */
export class BudgetTooSmallError extends LonghaulError {
  readonly code = "BUDGET_TOO_SMALL";
  readonly limit: BudgetLimitName | "recursionLimit";
  readonly given: number;
  readonly minimum: number;

  constructor(fields: {
    readonly limit: BudgetLimitName | "recursionLimit";
    readonly given: number;
    readonly minimum: number;
  }) {
    super(
      `\`${fields.limit}\` is ${fields.given}, less than one agent step and the closing answer need. ` +
        `Set it to at least ${fields.minimum}.`,
    );
    this.limit = fields.limit;
    this.given = fields.given;
    this.minimum = fields.minimum;
  }

  static override isInstance(error: unknown): error is BudgetTooSmallError {
    return hasErrorCode(error, "BUDGET_TOO_SMALL");
  }
}

/** Too many writers on one budget record: it could not be updated. The spending it was about is not in the record. */
export class BudgetContentionError extends LonghaulError {
  readonly code = "BUDGET_CONTENTION";
  override readonly retryable = true;
  readonly run: string;

  constructor(fields: { readonly run: string; readonly attempts: number }) {
    super(
      `The budget record of run "${fields.run}" changed under ${fields.attempts} attempts to update it. ` +
        "Lower the number of parallel agents on this run, or try again.",
    );
    this.run = fields.run;
  }

  static override isInstance(error: unknown): error is BudgetContentionError {
    return hasErrorCode(error, "BUDGET_CONTENTION");
  }
}

/** A stored budget record cannot be read. It is never taken for a fresh budget. */
export function damagedRecord(run: string, found: unknown): StateFormatError {
  return new StateFormatError({ channel: `budgets/${run}`, found, expected: "a budget record with v: 1" });
}

import { hasErrorCode, LonghaulError } from "../errors.ts";

/** A key was used again with another tool or other arguments. Nothing ran, and nothing of the first call is shown. */
export class EffectConflictError extends LonghaulError {
  readonly code = "EFFECT_CONFLICT";
  readonly key: string;
  readonly tool: string;

  constructor(fields: { readonly key: string; readonly tool: string }) {
    super(
      `The idempotency key ${fields.key} was used before with another tool or other arguments; ${fields.tool} was not run. ` +
        "Use a new key for a new intent.",
    );
    this.key = fields.key;
    this.tool = fields.tool;
  }

  static override isInstance(error: unknown): error is EffectConflictError {
    return hasErrorCode(error, "EFFECT_CONFLICT");
  }
}

/** The ledger could not be read or written, so the tool was not run: better late than twice. */
export class EffectLedgerError extends LonghaulError {
  readonly code = "EFFECT_LEDGER";
  override readonly retryable = true;
  readonly key: string;

  constructor(fields: { readonly key: string; readonly cause: unknown }) {
    super(`The effect ledger failed for ${fields.key}; the tool was not run. Check the storage.`, {
      cause: fields.cause,
    });
    this.key = fields.key;
  }

  static override isInstance(error: unknown): error is EffectLedgerError {
    return hasErrorCode(error, "EFFECT_LEDGER");
  }
}

/** A concurrent run of the same call failed before its effect; this one waited for it and shares the failure. */
export class SharedFailureError extends LonghaulError {
  readonly code = "EFFECT_SHARED_FAILURE";
  override readonly retryable = true;
  readonly key: string;

  constructor(fields: { readonly key: string; readonly reason: string }) {
    super(fields.reason);
    this.key = fields.key;
  }

  static override isInstance(error: unknown): error is SharedFailureError {
    return hasErrorCode(error, "EFFECT_SHARED_FAILURE");
  }
}

/**
 * The outcome of a call is open: unknown, or still in progress elsewhere. Thrown only where a tool is invoked with bare arguments; a
 * tool call gets a tool message that says the same.
 */
export class EffectOpenError extends LonghaulError {
  readonly code = "EFFECT_OPEN";
  readonly key: string;

  constructor(fields: { readonly key: string; readonly text: string }) {
    super(fields.text);
    this.key = fields.key;
  }

  static override isInstance(error: unknown): error is EffectOpenError {
    return hasErrorCode(error, "EFFECT_OPEN");
  }
}

/** `resolveEffect` was asked to settle what is not open. */
export class EffectStateError extends LonghaulError {
  readonly code = "EFFECT_STATE";
  readonly key: string;
  /** `absent` when there is no such effect. */
  readonly state: string;

  constructor(fields: { readonly key: string; readonly state: string; readonly expected: string }) {
    super(`Effect ${fields.key} is ${fields.state}, but must be ${fields.expected}.`);
    this.key = fields.key;
    this.state = fields.state;
  }

  static override isInstance(error: unknown): error is EffectStateError {
    return hasErrorCode(error, "EFFECT_STATE");
  }
}

/** `currentEffect` was called outside a guarded tool. */
export class NoCurrentEffectError extends LonghaulError {
  readonly code = "NO_CURRENT_EFFECT";

  constructor() {
    super(
      "currentEffect works in the body of a tool that Longhaul guards: use idempotencyMiddleware, toolsNode or guardTools.",
    );
  }

  static override isInstance(error: unknown): error is NoCurrentEffectError {
    return hasErrorCode(error, "NO_CURRENT_EFFECT");
  }
}

/** Another middleware ran a tool of its own in place of the guarded one. */
export class BypassedGuardError extends LonghaulError {
  readonly code = "BYPASSED_GUARD";
  readonly tool: string;

  constructor(fields: { readonly tool: string; readonly cause?: unknown }) {
    super(
      `A middleware after the effect guard answered the call of \`${fields.tool}\` without running the guarded tool, so its effect ` +
        "cannot be kept from happening twice. Put that middleware before idempotencyMiddleware in the list, or guard the tool " +
        'it runs with guardTools, or declare the tool effect: "none".',
      { cause: fields.cause },
    );
    this.tool = fields.tool;
  }

  static override isInstance(error: unknown): error is BypassedGuardError {
    return hasErrorCode(error, "BYPASSED_GUARD");
  }
}

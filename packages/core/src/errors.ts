/** Brand that marks Longhaul errors. `Symbol.for` so that an ESM and a CJS copy of this package agree. */
const BRAND: unique symbol = Symbol.for("@longhaul/error");

/**
 * Root of every error that Longhaul throws.
 *
 * `code` is stable and documented; `retryable` says whether the same call may succeed later without a change
 * by the caller (retry decisions read this, never the message). Test with `LonghaulError.isInstance(error)`, or the
 * `isInstance` of a subclass, and never with `instanceof`: an app may hold two copies of the class.
 */
export abstract class LonghaulError extends Error {
  abstract readonly code: string;
  readonly retryable: boolean = false;
  readonly [BRAND]: true = true;

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }

  static isInstance(error: unknown): error is LonghaulError {
    return typeof error === "object" && error !== null && (error as { [BRAND]?: unknown })[BRAND] === true;
  }
}

/** Brand check for one class of errors, by its code. Subclasses use it for their own `isInstance`. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return LonghaulError.isInstance(error) && error.code === code;
}

/** An option has a value that cannot work. Thrown when the option is given, never later. */
export class InvalidOptionsError extends LonghaulError {
  readonly code = "INVALID_OPTIONS";
  readonly option: string;
  readonly value: unknown;

  constructor(fields: { readonly option: string; readonly value: unknown; readonly expected: string }) {
    super(`Option \`${fields.option}\` must be ${fields.expected}, but is ${describe(fields.value)}.`);
    this.option = fields.option;
    this.value = fields.value;
  }

  static override isInstance(error: unknown): error is InvalidOptionsError {
    return hasErrorCode(error, "INVALID_OPTIONS");
  }
}

/** A channel of Longhaul holds data that this version cannot read: damaged, or written by a newer version. */
export class StateFormatError extends LonghaulError {
  readonly code = "STATE_FORMAT";
  readonly channel: string;
  readonly found: unknown;

  constructor(fields: {
    readonly channel: string;
    readonly found: unknown;
    readonly expected: string;
    readonly cause?: unknown;
  }) {
    super(
      `State channel \`${fields.channel}\` cannot be read: expected ${fields.expected}, found ${describe(fields.found)}. ` +
        "Upgrade Longhaul if a newer version wrote it; otherwise go back to an earlier checkpoint of the thread.",
      { cause: fields.cause },
    );
    this.channel = fields.channel;
    this.found = fields.found;
  }

  static override isInstance(error: unknown): error is StateFormatError {
    return hasErrorCode(error, "STATE_FORMAT");
  }
}

/** An optional package is needed for what was asked and is not installed. */
export class MissingPeerError extends LonghaulError {
  readonly code = "MISSING_PEER";
  readonly packageName: string;

  constructor(fields: {
    readonly packageName: string;
    readonly neededFor: string;
    readonly cause?: unknown;
  }) {
    super(
      `${fields.neededFor} needs the package \`${fields.packageName}\`. Install it: npm install ${fields.packageName}`,
      {
        cause: fields.cause,
      },
    );
    this.packageName = fields.packageName;
  }

  static override isInstance(error: unknown): error is MissingPeerError {
    return hasErrorCode(error, "MISSING_PEER");
  }
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "an array" : "an object";
}

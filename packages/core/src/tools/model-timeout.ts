import type { Deps } from "../clock.ts";
import { hasErrorCode, InvalidOptionsError, LonghaulError } from "../errors.ts";
import type { Emit } from "../events/event.ts";
import { withDeadline } from "./deadline.ts";

/** A model did not answer in time. Its call was aborted; what the provider bills for it is not known. */
export class ModelTimeoutError extends LonghaulError {
  readonly code = "MODEL_TIMEOUT";
  override readonly retryable = true;
  readonly timeoutMs: number;

  constructor(fields: { readonly timeoutMs: number }) {
    super(
      `The model did not answer within ${fields.timeoutMs} ms. A model that thinks for longer needs a larger \`toolGuard.modelTimeoutMs\`.`,
    );
    this.timeoutMs = fields.timeoutMs;
  }

  static override isInstance(error: unknown): error is ModelTimeoutError {
    return hasErrorCode(error, "MODEL_TIMEOUT");
  }
}

/** Limits of model calls. */
export interface ModelLimitOptions {
  /**
   * Milliseconds for one model call, at least 1; false: none. Streamed answers count to their end. The failed call is resumed by
   * `superviseRun` as a retryable one. @default 120,000
   */
  readonly modelTimeoutMs?: number | false | undefined;
}

const DEFAULT_MS = 120_000;

/** @throws InvalidOptionsError */
export function resolveModelTimeout(timeoutMs: number | false | undefined): number | false {
  if (timeoutMs === undefined || timeoutMs === false) return timeoutMs ?? DEFAULT_MS;
  if (Number.isFinite(timeoutMs) && timeoutMs >= 1) return timeoutMs;
  throw new InvalidOptionsError({
    option: "toolGuard.modelTimeoutMs",
    value: timeoutMs,
    expected: "at least 1 ms, or false",
  });
}

/** Calls a model, within the time-out where there is one. @throws ModelTimeoutError */
export async function callInTime<T>(
  given: {
    readonly timeoutMs: number | false;
    readonly signal: AbortSignal | undefined;
    readonly deps: Deps;
    readonly emit: Emit;
  },
  call: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const { timeoutMs, signal, deps, emit } = given;
  if (timeoutMs === false) return call(signal);
  const late = () => {
    emit({ type: "model.timed-out", timeoutMs });
    return new ModelTimeoutError({ timeoutMs });
  };
  return withDeadline({ clock: deps.clock, timeoutMs, signal, late }, call);
}

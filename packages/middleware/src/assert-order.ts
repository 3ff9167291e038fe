import { hasErrorCode, LonghaulError } from "@longhaul/core";
import { IDEMPOTENCY } from "./idempotency-middleware.ts";

/** A middleware stands where it could go around the effect guard. */
export class GuardOrderError extends LonghaulError {
  readonly code = "GUARD_ORDER";
  readonly guard: string;
  readonly offenders: readonly string[];

  constructor(fields: { readonly guard: string; readonly offenders: readonly string[] }) {
    super(
      `Middleware after ${fields.guard} could run tools around it: ${fields.offenders.join(", ")}. Put ${fields.guard} last, or pass ` +
        "{ allow: [names] } for middleware that never replaces or answers for a tool.",
    );
    this.guard = fields.guard;
    this.offenders = fields.offenders;
  }

  static override isInstance(error: unknown): error is GuardOrderError {
    return hasErrorCode(error, "GUARD_ORDER");
  }
}

/** Read in their source: they pass the request's own tool on, and answer only for errors. */
const HARMLESS: ReadonlySet<string> = new Set(["toolRetryMiddleware", "toolErrorMiddleware"]);

interface MiddlewareLike {
  readonly name: string;
  readonly wrapToolCall?: unknown;
}

/**
 * Checks an agent before its first run: behind the effect guard stands no middleware that could run a tool of its own. A middleware
 * cannot see its neighbours, so this reads the finished agent's list. An agent without the guard passes: nothing to go around.
 *
 * @param options.allow names of middleware known to pass the request's tool on. Default: none.
 * @throws GuardOrderError
 */
export function assertOrder(
  agent: { readonly options: { readonly middleware?: readonly MiddlewareLike[] | undefined } },
  options: { readonly allow?: readonly string[] | undefined } = {},
): void {
  const middleware = agent.options.middleware ?? [];
  const at = middleware.findIndex(({ name }) => name === IDEMPOTENCY);
  if (at < 0) return;
  const offenders = middleware
    .slice(at + 1)
    .filter(({ wrapToolCall }) => wrapToolCall !== undefined)
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("Longhaul") && !HARMLESS.has(name) && !options.allow?.includes(name));
  if (offenders.length > 0) throw new GuardOrderError({ guard: IDEMPOTENCY, offenders });
}

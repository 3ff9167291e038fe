import { createToolGuards, type EffectOptions, type ToolOptionsMap } from "@longhaul/core";
import { createMiddleware } from "langchain";
import { guardedCall } from "./guarded-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";

export interface IdempotencyOptions extends CommonOptions, EffectOptions {
  /** What belongs to one tool, by name. @default {}: every tool that says nothing of itself is `record` */
  readonly tools?: ToolOptionsMap | undefined;
}

/**
 * Side effects once: a call that runs again after a crash, a retry, a resume or a repeated model turn does not act again.
 *
 * Place in the chain: last (innermost) of the middleware with `wrapToolCall`. The guard itself travels inside the tool, so that
 * retries outside and inside of it act once in any order; only a later middleware that runs a tool of its own goes around it, which
 * `assertOrder(agent)` finds before and `BypassedGuardError` at the first call.
 *
 * On replay and resume a call whose outcome is known gets the stored result, marked as stored with its age; one whose process
 * died while it ran is unknown: `check` decides, else the model is told to verify, a human is asked (`onUnknown: "ask"`, an
 * interrupt), or it runs again (`effect: "key"`, `onUnknown: "retry"`). Interrupts of a tool leave its claim open.
 *
 * Stores one record for each call of a tool with an effect (two durable writes, arguments and result in it), none for reads.
 * Channels: none. A tool's error becomes an error result; the run fails when the ledger cannot be reached (`EffectLedgerError`):
 * nothing runs unrecorded.
 *
 * With durability `exit` a crash repeats the model's turn: an effect is recognised only if the model repeats its arguments.
 *
 * @throws InvalidOptionsError
 */
export function idempotencyMiddleware(options: IdempotencyOptions = {}) {
  const { storage, events, deps, tools, ...effects } = options;
  const guards = createToolGuards({ storage, events, deps, tools, effects, limits: false });
  const bypassed = new Set<string>();
  return createMiddleware({
    name: IDEMPOTENCY,
    wrapToolCall: (request, handler) => guardedCall(request, handler, guards, { events, bypassed }),
  });
}

export const IDEMPOTENCY = "LonghaulIdempotency";

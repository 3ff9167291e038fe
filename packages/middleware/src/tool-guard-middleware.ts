import {
  callInTime,
  createToolGuards,
  currentEmitter,
  type ModelLimitOptions,
  resolveModelTimeout,
  type ToolLimitOptions,
  type ToolOptionsMap,
  withSystemDeps,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { guardedCall } from "./guarded-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";

export interface ToolGuardOptions extends CommonOptions, ToolLimitOptions, ModelLimitOptions {
  /** What belongs to one tool, by name. @default {} */
  readonly tools?: ToolOptionsMap | undefined;
}

/**
 * Time-out, retry and concurrency of tool calls; time-out of model calls (120 s), which aborts the call.
 *
 * Place in the chain: before or after `idempotencyMiddleware`, both end up in one guarded tool. The time-out (60 s for one
 * attempt) aborts the signal that the tool gets; waiting for a slot or for a human does not count. Errors worth another try are tried
 * again only where that is safe by the tool's nature (`effect` none, key, query); never for `record`.
 *
 * Stores nothing, uses no channel, and starts afresh on replay and resume. A tool's error becomes an error result for the
 * model, as without middleware; interrupts and other bubble-ups pass.
 *
 * A `toolRetryMiddleware` before it sees results, not errors, and so does not retry; after it, it does.
 *
 * @throws InvalidOptionsError
 */
export function toolGuardMiddleware(options: ToolGuardOptions = {}) {
  const { storage: _storage, events, deps: given, tools, modelTimeoutMs, ...limits } = options;
  const deps = withSystemDeps(given);
  const timeoutMs = resolveModelTimeout(modelTimeoutMs);
  const guards = createToolGuards({ events, deps, tools, effects: false, limits });
  return createMiddleware({
    name: TOOL_GUARD,
    wrapModelCall: (request, handler) =>
      callInTime(
        { timeoutMs, signal: undefined, deps, emit: currentEmitter(events, deps.clock) },
        // the run's own signal comes to the model beside this one
        async (signal) =>
          handler(signal ? { ...request, modelSettings: { ...request.modelSettings, signal } } : request),
      ),
    wrapToolCall: (request, handler) => guardedCall(request, handler, guards, { events }),
  });
}

const TOOL_GUARD = "LonghaulToolGuard";

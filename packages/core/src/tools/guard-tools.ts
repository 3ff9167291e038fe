import { type Deps, withSystemDeps } from "../clock.ts";
import { EffectGuard } from "../effects/effect-guard.ts";
import type { EffectOptions } from "../effects/effect-options.ts";
import { guardTool, type InvokableTool, type ToolGuards } from "../effects/guarded-tool.ts";
import type { EventSink } from "../events/event.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import { memoryStorage } from "../storage/memory-storage.ts";
import { type ToolLimitOptions, ToolLimits } from "./tool-limits.ts";
import { resolveToolOptions, type ToolOptionsMap } from "./tool-options.ts";

export interface GuardToolsOptions {
  /** Where the ledger lives. @default in memory: effects do not survive the process, and an event says so */
  readonly storage?: LonghaulStorage | undefined;
  /** What belongs to one tool, by name. @default {} */
  readonly tools?: ToolOptionsMap | undefined;
  /** Side effects once; false: not guarded. @default {} */
  readonly effects?: EffectOptions | false | undefined;
  /** Time-out, retry, concurrency; false: none. @default {} */
  readonly limits?: ToolLimitOptions | false | undefined;
  /** Receives operators' events. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, ids, random; for tests. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
}

/** Builds what `guardTool` needs; one result is one ledger and one pool of slots. @throws InvalidOptionsError */
export function createToolGuards(options: GuardToolsOptions = {}): ToolGuards {
  const deps = withSystemDeps(options.deps);
  const { effects, limits, events } = options;
  return {
    tools: resolveToolOptions(options.tools),
    events,
    clock: deps.clock,
    effects:
      effects === false ? undefined : new EffectGuard(options.storage ?? memoryStorage(deps), effects, deps),
    limits: limits === false ? undefined : new ToolLimits(limits ?? {}, deps),
  };
}

/**
 * Tools with the effect guard and the limits built in, for subagents, plain graphs and anything that invokes tools itself.
 *
 * A call inside a graph is recognised by its place in the thread's messages, so that it is the same effect when a crash, a
 * retry or a resume runs it again. Outside a graph each call is an intent of its own, unless `keyOf` names it.
 * Under a middleware or `toolsNode` of Longhaul a guarded tool is not guarded twice.
 *
 * Tools that run at the provider, which cannot be invoked, are passed through.
 *
 * A guarded tool throws what the tool throws, and `EffectConflictError`, `EffectLedgerError` (nothing ran: the storage failed),
 * `ToolTimeoutError`. An unknown outcome is answered, not thrown: a tool message that tells the model to verify.
 *
 * @throws InvalidOptionsError
 */
export function guardTools<const T extends readonly unknown[]>(
  tools: T,
  options?: GuardToolsOptions,
): { -readonly [K in keyof T]: T[K] } {
  const guards = createToolGuards(options);
  return tools.map((tool) => (isInvokable(tool) ? guardTool(tool, guards) : tool)) as unknown as {
    -readonly [K in keyof T]: T[K];
  };
}

export function isInvokable(tool: unknown): tool is InvokableTool {
  const { name, invoke } = (tool ?? {}) as { name?: unknown; invoke?: unknown };
  return typeof name === "string" && typeof invoke === "function";
}

import { InvalidOptionsError } from "../errors.ts";
import type { Json } from "../json/json.ts";
import { checkOptionKeys, type OptionKeys } from "../option-keys.ts";
import { knownTool } from "./known-tools.ts";

/**
 * How a tool keeps its side effect from happening twice, best first.
 *
 * - `none`: it has none (a read); runs again freely, nothing is recorded.
 * - `key`: it passes Longhaul's key on and the server de-duplicates; may be run again with the same key.
 * - `query`: the world can be asked (`check`) whether the effect is there.
 * - `record`: only the ledger knows; never run again while the outcome is unknown.
 */
export type EffectKind = "none" | "key" | "query" | "record";

/** What the world says about an effect. `result` is what the tool would have returned. */
export type EffectAnswer =
  | { readonly outcome: "done"; readonly result?: Json | undefined }
  | { readonly outcome: "absent" }
  | { readonly outcome: "unknown" };

/** What a thrown error says about the effect: surely not done; answered and refused; or nobody knows. */
export type ErrorOutcome = "not-done" | "refused" | "unknown";

/** What belongs to one tool. All concerns read the same map, keyed by tool name. */
export interface ToolOptions {
  /** @default what the tool's own metadata or MCP hints say, else "record" (two durable writes for each call) */
  readonly effect?: EffectKind | undefined;
  /**
   * Asks the world whether the effect is there; called only when the outcome is unknown. Must not have effects. What it
   * throws leaves the outcome unknown. Required for `effect: "query"`, used by `record` too.
   */
  readonly check?:
    | ((args: Readonly<Record<string, unknown>>, key: string) => Promise<EffectAnswer> | EffectAnswer)
    | undefined;
  /** Name of the argument that receives the key; the tool's schema must let it pass. @default none */
  readonly injectKey?: string | undefined;
  /** While nobody knows: tell the model, ask a human by an interrupt, or run again. @default "tell" */
  readonly onUnknown?: "tell" | "ask" | "retry" | undefined;
  /** The caller's own key for a call; undefined: derived. A key with other arguments is a conflict. @default derived */
  readonly keyOf?: ((args: Readonly<Record<string, unknown>>) => string | undefined) | undefined;
  /** What a thrown error means; undefined: decided by its code and status. @default by code and status */
  readonly outcomeOf?: ((error: unknown) => ErrorOutcome | undefined) | undefined;
  /** Part of the key: a new version of the tool does not replay results of the old. @default none */
  readonly version?: string | undefined;
  /** Part of the key: tools of one name from two servers are two tools. @default the tool's metadata, else none */
  readonly server?: string | undefined;
  /** The tool is meant to be called again until its result changes. @default not a poll */
  readonly poll?:
    | {
        /** Milliseconds between two calls, at least 0. */
        readonly every?: number | undefined;
        /** Unchanged results before the loop guard speaks, at least 1. @default 5 */
        readonly atMost?: number | undefined;
      }
    | undefined;
  /** Milliseconds for one attempt, at least 1; false: none. @default 60,000; false for tools that call agents */
  readonly timeoutMs?: number | false | undefined;
  /** Further attempts after a retryable error, at least 0. Never used for `record`. @default 2 */
  readonly retries?: number | undefined;
  /** Withheld when the budget gets tight. @default false */
  readonly optional?: boolean | undefined;
  /** Runs an agent: no time-out, no slot, and its own tools guard themselves. @default recognised by name */
  readonly callsAgent?: boolean | undefined;
  /** Characters of a result that the context shows in full, at least 1. @default the context's */
  readonly resultLimit?: number | undefined;
}

export type ToolOptionsMap = Readonly<Record<string, ToolOptions>>;

/** What is read from a tool; every LangChain tool has it. */
export interface ToolIdentity {
  readonly name: string;
  readonly metadata?: unknown;
}

/** The options of one tool with everything decided. */
export interface ToolTraits extends ToolOptions {
  readonly name: string;
  readonly effect: EffectKind;
  readonly onUnknown: "tell" | "ask" | "retry";
  readonly callsAgent: boolean;
  /** Nobody said what the tool does: it is treated as `record`. */
  readonly undeclared: boolean;
}

/** Set as `metadata: { [EFFECT_METADATA]: "none" }` by a tool that knows what it is. */
export const EFFECT_METADATA = "longhaul_effect";

const EFFECT_KINDS: readonly unknown[] = ["none", "key", "query", "record"];

/** Options of the tool of that name. Own properties only: a tool may be called `constructor`. */
export function optionsOf(map: ToolOptionsMap | undefined, name: string): ToolOptions {
  return map && Object.hasOwn(map, name) ? (map[name] ?? {}) : {};
}

/** Decides what a tool is: its options, then its own metadata, MCP hints, well-known names, and last "record". */
export function toolTraits(tool: ToolIdentity, map: ToolOptionsMap | undefined): ToolTraits {
  const options = optionsOf(map, tool.name);
  const metadata = isObject(tool.metadata) ? tool.metadata : {};
  const known = knownTool(tool.name);
  const callsAgent = options.callsAgent ?? known?.callsAgent ?? false;
  const declared =
    options.effect ??
    ownEffect(metadata) ??
    (options.check ? "query" : undefined) ??
    hintedEffect(metadata) ??
    // An agent's tools guard themselves; recording its answer as well would keep it from being resumed.
    (callsAgent ? "none" : known?.effect);
  const server = options.server ?? metadata.server ?? metadata.serverName;
  return {
    ...options,
    name: tool.name,
    effect: declared ?? "record",
    undeclared: declared === undefined,
    onUnknown: options.onUnknown ?? "tell",
    callsAgent,
    ...(typeof server === "string" ? { server } : {}),
  };
}

/** Checks a map of tool options. @throws InvalidOptionsError */
export function resolveToolOptions(map: ToolOptionsMap | undefined): ToolOptionsMap {
  if (map !== undefined && (typeof map !== "object" || map === null || Array.isArray(map)))
    throw new InvalidOptionsError({
      option: "tools",
      value: map,
      expected: "an object of options by tool name",
    });
  for (const [name, options] of Object.entries(map ?? {})) {
    checkOptionKeys(`tools.${name}`, options, TOOL_KEYS);
    if (options === undefined) continue;
    const at = (field: string) => `tools.${name}.${field}`;
    oneOf(at("effect"), options.effect, EFFECT_KINDS);
    oneOf(at("onUnknown"), options.onUnknown, ["tell", "ask", "retry"]);
    if (options.effect === "query" && !options.check)
      throw new InvalidOptionsError({
        option: at("check"),
        value: options.check,
        expected: 'a function, because effect is "query"',
      });
    if (options.timeoutMs !== false) atLeast(at("timeoutMs"), options.timeoutMs, 1);
    wholeAtLeast(at("retries"), options.retries, 0);
    wholeAtLeast(at("resultLimit"), options.resultLimit, 1);
    atLeast(at("poll.every"), options.poll?.every, 0);
    wholeAtLeast(at("poll.atMost"), options.poll?.atMost, 1);
  }
  return map ?? {};
}

const TOOL_KEYS: OptionKeys<ToolOptions> = {
  effect: true,
  check: true,
  injectKey: true,
  onUnknown: true,
  keyOf: true,
  outcomeOf: true,
  version: true,
  server: true,
  poll: true,
  timeoutMs: true,
  retries: true,
  optional: true,
  callsAgent: true,
  resultLimit: true,
};

function ownEffect(metadata: Record<string, unknown>): EffectKind | undefined {
  const effect = metadata[EFFECT_METADATA];
  return EFFECT_KINDS.includes(effect) ? (effect as EffectKind) : undefined;
}

/** MCP: read-only has no effect; idempotent may be repeated, which is what `key` promises. */
function hintedEffect(metadata: Record<string, unknown>): EffectKind | undefined {
  const hints = isObject(metadata.annotations) ? metadata.annotations : metadata;
  if (hints.readOnlyHint === true) return "none";
  return hints.idempotentHint === true ? "key" : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function oneOf(option: string, value: unknown, allowed: readonly unknown[]): void {
  if (value !== undefined && !allowed.includes(value))
    throw new InvalidOptionsError({ option, value, expected: `one of ${allowed.join(", ")}` });
}

function atLeast(option: string, value: number | undefined, minimum: number): void {
  if (value !== undefined && !(Number.isFinite(value) && value >= minimum))
    throw new InvalidOptionsError({ option, value, expected: `a number of at least ${minimum}` });
}

function wholeAtLeast(option: string, value: number | undefined, minimum: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= minimum))
    throw new InvalidOptionsError({ option, value, expected: `a whole number of at least ${minimum}` });
}

/** Which tools have declared side effects: those that memory pins as done. What says nothing of itself is not listed there. */
export function declaresEffect(tools: ToolOptionsMap | undefined): (toolName: string) => boolean {
  const map = tools ?? {};
  return (name) => Object.hasOwn(map, name) && (map[name]?.effect ?? "none") !== "none";
}

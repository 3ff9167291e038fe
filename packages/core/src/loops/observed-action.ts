import { canonicalJson, digestText } from "../json/canonical-json.ts";
import type { ResolvedLoopOptions } from "./loop-options.ts";
import type { LoopState, ObservedAction } from "./loop-state.ts";
import { kindOfResult } from "./normalise-result.ts";

/** A call and its result, as a tool node or a trace has them. */
export interface ActionInput {
  readonly tool: string;
  /** Object, or its JSON as text. */
  readonly args?: unknown;
  /** Text, or any value. */
  readonly result?: unknown;
  /** @default decided by the text */
  readonly isError?: boolean | undefined;
  /** Same for all calls of one assistant message. @default each action is a step of its own */
  readonly group?: string | undefined;
  readonly server?: string | undefined;
  /** Known from elsewhere whether it brought something new, as a progress checkpoint knows. @default decided by the result */
  readonly moved?: boolean | undefined;
  /** It was answered by the ladder's block and not run. */
  readonly blocked?: boolean | undefined;
}

/** An action as the window holds it, and the digest by which its outcome is known as old or new. */
export interface Judged {
  readonly action: ObservedAction;
  readonly novelty: string;
  readonly mood: "moved" | "still" | "neutral";
}

/** Judges an action against the state: what it is, and whether it brought something new. Pure. */
export function judgeAction(
  state: LoopState,
  input: ActionInput,
  step: number,
  options: ResolvedLoopOptions,
): Judged {
  const tool = options.tools[input.tool];
  const action = actionKey(input, options) ?? `!${state.actions}`;
  const writes = tool?.effect !== undefined && tool.effect !== "none";
  const earlier = state.window.findLast((it) => it.action === action);
  const text = textOf(input.result);
  const kind = input.blocked ? earlier?.kind : kindOfResult(text, input.isError, writes);
  const failed = kind === "error" || kind === "unavailable";
  const normal = options.normalise(text, failed);
  // a blocked call would have ended as before: the cycle goes on
  const outcome = (input.blocked ? earlier?.outcome : undefined) ?? short(normal);
  const wrote = writes && !failed && !input.blocked;
  const novelty = noveltyOf(input.tool, action, kind, normal);
  const poll = tool?.poll !== undefined;
  let mood: Judged["mood"];
  if (input.blocked) mood = "still";
  else if (input.moved !== undefined) mood = input.moved ? "moved" : "still";
  else if (kind === "unavailable") mood = "neutral";
  else if (poll) mood = earlier?.outcome === outcome ? "neutral" : "moved";
  else if (wrote) mood = earlier ? "still" : "moved";
  else mood = state.outcomes.includes(novelty) ? "still" : "moved";
  return {
    novelty,
    mood,
    action: {
      tool: input.tool,
      action,
      outcome,
      step,
      ...(kind && { kind }),
      ...(poll && { poll }),
      ...(wrote && { wrote }),
      ...(input.blocked && { blocked: true }),
      ...(mood === "moved" && { moved: true }),
      ...(options.declaresEffects && { targets: targetsOf(input.args) }),
    },
  };
}

/** Identity of a call; undefined for arguments that have no canonical form: such a call equals no other. */
export function actionKey(
  call: { readonly tool: string; readonly args?: unknown; readonly server?: string | undefined },
  options: ResolvedLoopOptions,
): string | undefined {
  const tool = options.tools[call.tool];
  try {
    const args = canonicalJson(parsedArgs(call.args));
    return short(JSON.stringify([call.tool, call.server ?? tool?.server ?? "", tool?.version ?? "", args]));
  } catch {
    return undefined;
  }
}

/** Arguments as an object: models and traces give them as JSON text too. */
export function parsedArgs(args: unknown): unknown {
  if (typeof args !== "string") return args ?? {};
  try {
    const parsed: unknown = JSON.parse(args === "" ? "{}" : args);
    return typeof parsed === "object" && parsed !== null ? parsed : args;
  } catch {
    return args;
  }
}

/** Whether a call could see what a write changed: they share a text argument, or the call names no target at all. */
export function canSee(call: ObservedAction, write: ObservedAction): boolean {
  const targets = call.targets ?? [];
  return targets.length === 0 || targets.some((target) => write.targets?.includes(target));
}

/**
 * What makes an outcome new. A text of some length speaks for itself. A short one ("ok", "false", "") is news about the call
 * that it answers. "There is nothing" and errors are news once for a tool.
 */
function noveltyOf(tool: string, action: string, kind: ObservedAction["kind"], normal: string): string {
  if (kind === "error" || (kind === "nothing" && normal !== "")) return short(`${tool} ${normal}`);
  return short(normal.length <= 80 ? `${action} ${normal}` : normal);
}

function textOf(result: unknown): string {
  if (typeof result === "string") return result;
  if (result === undefined || result === null) return "";
  try {
    return canonicalJson(result);
  } catch {
    return String(result);
  }
}

function targetsOf(args: unknown): string[] {
  const found = new Set<string>();
  const collect = (value: unknown, depth: number): void => {
    if (found.size >= 4 || depth > 5) return;
    if (typeof value === "string" && value !== "" && value.length <= 200) found.add(short(value));
    else if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) collect(inner, depth + 1);
    }
  };
  collect(parsedArgs(args), 0);
  return [...found];
}

function short(text: string): string {
  return digestText(text).slice(0, 10);
}

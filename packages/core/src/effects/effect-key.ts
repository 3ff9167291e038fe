import type { BaseMessage, ToolCall } from "@langchain/core/messages";
import { canonicalJson, digestText } from "../json/canonical-json.ts";
import { isAssistant } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import { UNSETTLED_FIELD } from "./effect-messages.ts";

/** Which occurrence of a call this is: two with equal parts are one intent. */
export type CallSite =
  /** Found in a history. `ordinal` counts equal calls of the turn; `run` tells runs apart where no thread does. */
  | {
      readonly turn: number;
      readonly ordinal: number;
      readonly run?: string | undefined;
      readonly task?: undefined;
    }
  /** No history: the graph's task and the call's id, which a resumed run has again. */
  | { readonly task: string; readonly call: string };

export interface EffectKeyParts {
  /** Tenant or other boundary that keys never cross. @default none */
  readonly scope?: string | undefined;
  readonly thread: string;
  readonly generation: number;
  readonly agentPath: readonly string[];
  readonly site: CallSite;
  /** How many other branches of the thread's history have had this call before. @default 0 */
  readonly branch?: number | undefined;
  readonly tool: string;
  readonly server?: string | undefined;
  readonly version?: string | undefined;
  /** As they reach the tool, after every edit. */
  readonly args: unknown;
}

export interface EffectKey {
  /** `lh-`, 32 hex digits of the call, `-`, 16 of the occurrence: at most 64 characters, fit for a header. */
  readonly key: string;
  /** What the keys of all equal calls of the thread start with; undefined for a caller's own key. */
  readonly equals?: string | undefined;
  /** Digest of tool and arguments. */
  readonly payload: string;
}

/**
 * The key of a call: equal for every try of one intent, whatever ids the provider gave it, and different for every other.
 *
 * @throws NotCanonicalError for arguments that have no canonical form
 */
export function deriveEffectKey(parts: EffectKeyParts): EffectKey {
  const payload = payloadDigest(parts);
  const call = digestText(canonicalJson([parts.scope, parts.thread, parts.generation, payload])).slice(0, 32);
  const branch = parts.branch ? [parts.branch] : [];
  const occurrence = digestText(canonicalJson([parts.agentPath, parts.site, ...branch])).slice(0, 16);
  return { key: `lh-${call}-${occurrence}`, equals: `lh-${call}-`, payload };
}

/** The key for a caller's own: bound to scope and thread, not to the tool, so that its use for another one is a conflict. */
export function ownEffectKey(
  parts: Omit<EffectKeyParts, "site" | "agentPath" | "branch">,
  own: string,
): EffectKey {
  const name = digestText(canonicalJson([parts.scope, parts.thread, parts.generation, own])).slice(0, 32);
  return { key: `lo-${name}`, payload: payloadDigest(parts) };
}

function payloadDigest(parts: Pick<EffectKeyParts, "tool" | "server" | "version" | "args">): string {
  return digestText(canonicalJson([parts.tool, parts.server, parts.version, parts.args]));
}

/** A call as the history has it. */
export interface LocatedCall {
  readonly turn: number;
  readonly ordinal: number;
  /** Arguments in the history: what the model proposed, or a human decided. */
  readonly proposed: unknown;
  /** Id of the turn's first assistant message: names the run where there is no thread. */
  readonly firstAnswer: string | undefined;
  /** Text of the turn's human message. */
  readonly ask: string;
}

/**
 * Finds a call in the history: its human turn and its ordinal among equal calls of that turn, by position.
 *
 * An earlier equal call keeps its place when the model has seen its outcome. The place of one without an answer (a crash cut it
 * off), or answered by "not settled yet", is open: the next equal call is the same intent asked again, and takes it.
 * Cost: linear in the history; arguments are compared for calls of the same tool in the same turn only.
 */
export function locateCall(
  messages: readonly BaseMessage[],
  call: Pick<ToolCall, "id" | "name" | "args">,
): LocatedCall | undefined {
  const at = messages.findLastIndex((message) =>
    callsOf(message).some((other) => other.id === call.id && other.name === call.name),
  );
  if (at < 0) return undefined;
  const own = callsOf(messages[at] as BaseMessage);
  const sameId = own.filter((other) => other.id === call.id && other.name === call.name);
  // Providers repeat ids even inside a message: then the arguments decide.
  const isAsked = equalTo(call);
  const mine = sameId.find(isAsked) ?? (sameId[0] as ToolCall);
  const turnStart = messages.slice(0, at).findLastIndex((message) => message.getType() === "human");
  const turn = messages.slice(0, at).filter((message) => message.getType() === "human").length;
  const ordinal = placeOf(messages, turnStart + 1, at, mine);
  const ask = messages[turnStart];
  return {
    turn,
    ordinal,
    proposed: mine.args,
    firstAnswer: messages.slice(turnStart + 1).find(isAssistant)?.id,
    ask: ask ? messageText(ask) : "",
  };
}

/**
 * Names of the graphs and nodes around a call, without the ids of the namespace, which change, and without the tool node
 * itself.
 */
export function agentPathOf(
  namespace: string,
  agentName: string | undefined,
  parentKey: string | undefined,
): string[] {
  const nodes = namespace
    .split("|")
    .slice(0, -1)
    .map((part) => part.split(":", 1)[0] as string);
  return [parentKey ?? "", agentName ?? "", ...nodes];
}

function callsOf(message: BaseMessage): readonly ToolCall[] {
  return isAssistant(message) ? (message.tool_calls ?? []) : [];
}

type NamedCall = Pick<ToolCall, "name" | "args">;

/** Whether another call has the same tool and arguments; what has no canonical form equals nothing. */
function equalTo(one: NamedCall): (other: NamedCall) => boolean {
  const wanted = canonicalOf(one.args);
  return (other) =>
    other.name === one.name &&
    wanted !== undefined &&
    !differsPlainly(one.args, other.args) &&
    canonicalOf(other.args) === wanted;
}

/** Two texts under one key: seen without writing both values out, which every earlier call of the tool would cost. */
function differsPlainly(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  for (const key in a)
    if (typeof a[key] === "string" && typeof b?.[key] === "string" && a[key] !== b[key]) return true;
  return false;
}

function canonicalOf(args: unknown): string | undefined {
  try {
    return canonicalJson(args);
  } catch {
    return undefined;
  }
}

/** Place of a call of message `at` among the equal calls since `from`: the first that no settled call holds. */
function placeOf(messages: readonly BaseMessage[], from: number, at: number, mine: ToolCall): number {
  const isEqual = equalTo(mine);
  const held = new Set<number>();
  for (let i = from; i <= at; i++) {
    const settled: number[] = [];
    let place = -1;
    for (const call of callsOf(messages[i] as BaseMessage)) {
      if (call !== mine && !isEqual(call)) continue;
      do place++;
      while (held.has(place));
      if (call === mine && i === at) return place;
      if (isSettled(messages, i, call)) settled.push(place);
    }
    for (const one of settled) held.add(one);
  }
  return 0;
}

function isSettled(messages: readonly BaseMessage[], from: number, call: ToolCall): boolean {
  for (let i = from + 1; i < messages.length; i++) {
    const message = messages[i] as BaseMessage;
    // Behind a later assistant message the id may belong to another call.
    if (isAssistant(message)) return false;
    if ((message as { tool_call_id?: unknown }).tool_call_id === call.id)
      return message.additional_kwargs[UNSETTLED_FIELD] === undefined;
  }
  return false;
}

import type { BaseMessage } from "@langchain/core/messages";
import { type CountTokens, countRequestTokens } from "../wire/count-tokens.ts";
import {
  isBaseMessage,
  toWire,
  type WireMessage,
  type WirePart,
  type WireTool,
} from "../wire/wire-message.ts";
import { signedParts } from "./signed-parts.ts";

/** Numbers of the rules, as the field cases give them. */
export type StrictRule = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

export interface BrokenRule {
  readonly rule: StrictRule;
  /** Position of the message that breaks it; the length of the list when something is missing at the end. */
  readonly index: number;
  readonly reason: string;
}

export interface StrictOptions {
  /**
   * Rules that are not checked. `"2-in-a-row"` allows human messages in a row and still wants a human message first.
   * @default none
   */
  readonly exempt?: readonly (StrictRule | "2-in-a-row")[] | undefined;
  /** Size limit of a request in tokens, for rule 9. @default none */
  readonly windowTokens?: number | undefined;
  /** @default countRequestTokens */
  readonly countTokens?: CountTokens | undefined;
  /** Tools offered with the request; they count for rule 9. */
  readonly tools?: readonly WireTool[] | undefined;
  /** Messages as the provider gave them, for rule 7. A kept message is found by its id, or by its signed parts. */
  readonly originals?: readonly BaseMessage[] | undefined;
}

/** What baselines of benchmarks are exempt from. */
export const BASELINE_EXEMPTIONS: NonNullable<StrictOptions["exempt"]> = ["2-in-a-row", 5, 6];

/** A request breaks a rule of the strict provider. */
export class StrictRuleError extends Error {
  readonly code = "STRICT_RULE";
  readonly broken: BrokenRule;

  constructor(broken: BrokenRule) {
    super(`Rule ${broken.rule} is broken at message ${broken.index}: ${broken.reason}`);
    this.name = "StrictRuleError";
    this.broken = broken;
  }
}

/**
 * The first broken rule of a request, or undefined. The rules are what OpenAI-, Anthropic- and Gemini-like providers
 * refuse, taken together:
 *
 * 1 at most one system message, at index 0; 2 the first other message is human, never two human messages in a row;
 * 3 each call of an assistant message is answered by exactly one tool message, directly after it; 4 no tool message without
 * its call; 5 call ids are unique; 6 no empty (or blank) message and no empty text part; 7 signed or opaque blocks of kept messages are
 * what the provider gave; 8 every string is well-formed UTF-16; 9 the request fits the window.
 */
export function checkRequest(
  messages: readonly (WireMessage | BaseMessage)[],
  options: StrictOptions = {},
): BrokenRule | undefined {
  const exempt = new Set(options.exempt ?? []);
  const wire = messages.map(toWire);
  const checks: readonly [StrictRule, () => Omit<BrokenRule, "rule"> | undefined][] = [
    [1, () => systemFirst(wire)],
    [2, () => humanFirst(wire, !exempt.has("2-in-a-row"))],
    [3, () => callsAnswered(wire)],
    [4, () => noOrphans(wire)],
    [5, () => uniqueCallIds(wire)],
    [6, () => nothingEmpty(wire)],
    [7, () => signedUnchanged(messages, options.originals ?? [])],
    [8, () => wellFormed(wire)],
    [9, () => fits(messages, options)],
  ];
  for (const [rule, check] of checks) {
    const broken = exempt.has(rule) ? undefined : check();
    if (broken) return { rule, ...broken };
  }
  return undefined;
}

type Found = Omit<BrokenRule, "rule"> | undefined;

const isSystem = (message: WireMessage) => message.role === "system" || message.role === "developer";

function systemFirst(wire: readonly WireMessage[]): Found {
  const index = wire.findIndex((message, i) => i > 0 && isSystem(message));
  if (index < 0) return undefined;
  return { index, reason: "a system message may stand at index 0 only, and only one" };
}

function humanFirst(wire: readonly WireMessage[], inARow: boolean): Found {
  const first = wire.findIndex((message) => !isSystem(message));
  if (first < 0) return { index: wire.length, reason: "there is no human message" };
  if (wire[first]?.role !== "user") {
    return { index: first, reason: `the first message is of role ${wire[first]?.role}, not user` };
  }
  const index = wire.findIndex((message, i) => message.role === "user" && wire[i - 1]?.role === "user");
  return inARow && index >= 0 ? { index, reason: "two human messages in a row" } : undefined;
}

function callsAnswered(wire: readonly WireMessage[]): Found {
  for (const [index, message] of wire.entries()) {
    const asked = callIds(message);
    if (asked.length === 0) continue;
    const answers: (string | undefined)[] = [];
    for (let i = index + 1; wire[i]?.role === "tool"; i++) answers.push(wire[i]?.tool_call_id);
    for (const id of new Set(asked)) {
      const calls = asked.filter((other) => other === id).length;
      const found = answers.filter((answer) => answer === id).length;
      if (found !== calls)
        return {
          index,
          reason: `call ${id} has ${found} answers directly after its message instead of ${calls}`,
        };
    }
  }
  return undefined;
}

function noOrphans(wire: readonly WireMessage[]): Found {
  let open = new Set<string>();
  for (const [index, message] of wire.entries()) {
    if (message.role !== "tool") open = new Set(callIds(message));
    else if (!open.has(message.tool_call_id ?? ""))
      return { index, reason: `tool message for ${message.tool_call_id}, which was not called right before` };
  }
  return undefined;
}

function uniqueCallIds(wire: readonly WireMessage[]): Found {
  const seen = new Set<string>();
  for (const [index, message] of wire.entries()) {
    for (const id of callIds(message)) {
      if (id === "") return { index, reason: "a call has no id" };
      if (seen.has(id)) return { index, reason: `call id ${id} occurs twice` };
      seen.add(id);
    }
  }
  return undefined;
}

function nothingEmpty(wire: readonly WireMessage[]): Found {
  for (const [index, message] of wire.entries()) {
    const { content } = message;
    const parts: readonly (WirePart | string)[] = typeof content === "string" ? [content] : (content ?? []);
    if (parts.every(isBlank) && callIds(message).length === 0)
      return { index, reason: "the message is empty" };
    if (Array.isArray(content) && content.some((part) => (part as WirePart).text === ""))
      return { index, reason: "the message has an empty text part" };
  }
  return undefined;
}

function isBlank(part: WirePart | string): boolean {
  const text = typeof part === "string" ? part : part.type === "text" ? (part.text ?? "") : undefined;
  return text !== undefined && text.trim() === "";
}

function signedUnchanged(
  messages: readonly (WireMessage | BaseMessage)[],
  originals: readonly BaseMessage[],
): Found {
  const byId = new Map<string, string[]>();
  const given = new Set<string>();
  for (const original of originals) {
    const parts = signedParts(original);
    if (original.id !== undefined && parts.length > 0) byId.set(original.id, parts);
    for (const part of parts) given.add(part);
  }
  if (given.size === 0) return undefined;
  for (const [index, message] of messages.entries()) {
    const parts = signedParts(message);
    const expected = isBaseMessage(message) && message.id !== undefined ? byId.get(message.id) : undefined;
    const same = expected
      ? expected.length === parts.length && expected.every((part, i) => part === parts[i])
      : parts.every((part) => given.has(part));
    if (!same) return { index, reason: "signed blocks are not those that the provider gave" };
  }
  return undefined;
}

function wellFormed(wire: readonly WireMessage[]): Found {
  for (const [index, message] of wire.entries()) {
    const path = illFormedPath(message, "");
    if (path !== undefined) return { index, reason: `${path} is no well-formed UTF-16` };
  }
  return undefined;
}

function illFormedPath(value: unknown, path: string): string | undefined {
  if (typeof value === "string") return value.isWellFormed() && !hidesSurrogate(value) ? undefined : path;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = key.isWellFormed() ? illFormedPath(inner, `${path}.${key}`) : `${path}.<key>`;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** JSON inside a string (arguments of a call) carries a lone surrogate as an escape: `JSON.stringify` writes it so. */
function hidesSurrogate(text: string): boolean {
  if (!/\\ud[89a-f]/i.test(text) || !/^\s*[[{"]/.test(text)) return false;
  try {
    return illFormedPath(JSON.parse(text), "json") !== undefined;
  } catch {
    return false;
  }
}

function fits(messages: readonly (WireMessage | BaseMessage)[], options: StrictOptions): Found {
  if (options.windowTokens === undefined) return undefined;
  const tokens = (options.countTokens ?? countRequestTokens)(messages, options.tools);
  if (tokens <= options.windowTokens) return undefined;
  return {
    index: messages.length,
    reason: `${tokens} tokens do not fit a window of ${options.windowTokens}`,
  };
}

function callIds(message: WireMessage): string[] {
  const ids = (message.tool_calls ?? []).map((call) => call.id ?? "");
  if (message.role !== "assistant" || !Array.isArray(message.content)) return ids;
  // Anthropic's form repeats calls as content blocks; a block without its parsed call is a call all the same.
  const blocks = (message.content as readonly WirePart[]).filter((part) => part.type === "tool_use");
  return [...ids, ...blocks.map((part) => String(part.id)).filter((id) => !ids.includes(id))];
}

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { messageText } from "../messages/message-text.ts";
import type { LonghaulValues } from "../state/channels.ts";

/** What a run has seen: what a fact may name as its source. Built by `knownSources`. */
export interface KnownSources {
  /** Call ids, tool names, artifact references, sources of earlier facts, and `user`. */
  readonly names: ReadonlySet<string>;
  /** Texts in which a URL, a path or an identifier may have been seen: human turns, results, arguments of answered calls. */
  readonly texts: readonly string[];
}

/**
 * Collects what the run has seen. The model's own prose does not count, nor do the calls of the tools in `exclude` (the
 * checkpoint tool's: a guess does not become a source by being checkpointed). Cost: linear in the history; once for each
 * checkpoint.
 */
export function knownSources(
  messages: readonly BaseMessage[],
  values: LonghaulValues = {},
  exclude: readonly string[] = [],
): KnownSources {
  const names = new Set<string>(["user"]);
  const texts: string[] = [];
  const answered = new Set<string>();
  for (const message of messages) {
    const type = message.getType();
    if (type === "human") texts.push(messageText(message));
    if (type !== "tool") continue;
    const { tool_call_id, name } = message as ToolMessage;
    answered.add(tool_call_id);
    if (name !== undefined && exclude.includes(name)) continue;
    texts.push(messageText(message));
  }
  for (const message of messages) {
    if (message.getType() !== "ai") continue;
    for (const call of (message as AIMessage).tool_calls ?? []) {
      if (call.id === undefined || !answered.has(call.id) || exclude.includes(call.name)) continue;
      names.add(call.id).add(call.name);
      // an argument, decoded: in JSON a quote or a backslash in a path would be escaped
      collectStrings(call.args, texts);
    }
  }
  collectMemory(values, names, texts);
  return { names, texts };
}

/** Whether a fact's source names something that the run has seen. */
export function isKnownSource(source: string, known: KnownSources): boolean {
  const trimmed = source.trim();
  if (trimmed === "") return false;
  if (known.names.has(trimmed) || known.names.has(trimmed.toLowerCase())) return true;
  const places = trimmed.match(PLACE) ?? [];
  if (places.length > 0)
    return places.every((place) => wasSeen(place.replace(/[.,;:!?)\]}>'"]+$/, ""), known));
  // "search", "tool search", "result of call_7", "user: second message"
  const lead = trimmed.replace(/^(?:\b(?:the|tool|call|result|output|of|from|by)\b[\s:#]*)+/i, "");
  const name = lead.match(/^[\p{L}\p{N}_.-]+/u)?.[0] ?? "";
  if (known.names.has(name) || known.names.has(name.toLowerCase())) return true;
  // a record id, a file name in another script: seen as a whole, and not just any word
  return trimmed.length >= 3 && /[\d._-]/.test(trimmed) && wasSeen(trimmed, known);
}

/** A URL, a path with a separator, a file name, or an artifact reference. */
const PLACE =
  /[a-z][a-z0-9+.-]*:\/\/\S+|(?:[A-Za-z]:)?[\w.~@-]*[\\/][\w./\\~@%+-]*\w|\b[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b|\blh-[0-9a-f]{16}\b/g;

function wasSeen(place: string, known: KnownSources): boolean {
  if (known.names.has(place)) return true;
  return known.texts.some((text) => containsWhole(text, place));
}

/** `https://a/p` does not count as seen because `https://a/pricing` was. */
function containsWhole(text: string, place: string): boolean {
  for (let at = text.indexOf(place); at >= 0; at = text.indexOf(place, at + 1)) {
    const before = text[at - 1] ?? "";
    const after = text.slice(at + place.length, at + place.length + 2);
    const whole = place.endsWith("/") || !/^(?:[\w%-]|[./?#=&][\w%-])/.test(after);
    if (whole && !/[\w-]/.test(before)) return true;
  }
  return false;
}

function collectMemory(values: LonghaulValues, names: Set<string>, texts: string[]): void {
  for (const ref of Object.keys(values._longhaulMemory?.artifacts ?? {})) names.add(ref);
  for (const { text } of values._longhaulMemory?.identifiers ?? []) names.add(text);
  for (const fact of values._longhaulProgress?.latest?.facts ?? []) names.add(fact.source);
  for (const { value, source } of Object.values(values._longhaulData?.entries ?? {})) {
    if (source !== undefined) names.add(source);
    collectStrings(value, texts);
  }
}

function collectStrings(value: unknown, into: string[], depth = 0): void {
  if (typeof value === "string") into.push(value);
  if (typeof value !== "object" || value === null || depth > 20) return;
  for (const inner of Object.values(value)) collectStrings(inner, into, depth + 1);
}

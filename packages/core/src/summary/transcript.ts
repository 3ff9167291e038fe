import { cutMiddle } from "../artifacts/offload.ts";
import type { MemoryState } from "../context/memory-state.ts";
import type { MessageGroup } from "../messages/groups.ts";
import { readGroup } from "./group-facts.ts";
import { tokensAtMost } from "./text-size.ts";

export interface TranscriptOptions {
  /** Longest part of one result, of one call's arguments, or of pasted material with a reference; characters. @default 4_000 */
  readonly resultChars?: number | undefined;
  /** Stored copies of messages, to refer to. @default none */
  readonly artifacts?: MemoryState["artifacts"] | undefined;
}

/**
 * Groups as plain text for people, the summariser and `recall`: who said what, calls with arguments, results. Signed and
 * opaque blocks, base64 and secrets are left out; a long result is head, tail and reference; what the user wrote is verbatim, pasted material that
 * is stored is head, tail and reference. Same groups, same text. Cost: linear.
 */
export function renderTranscript(groups: readonly MessageGroup[], options: TranscriptOptions = {}): string {
  return transcriptEntries(groups, options).join("\n\n");
}

/** `renderTranscript` in parts, one a group (a group that says nothing has none). */
export function transcriptEntries(
  groups: readonly MessageGroup[],
  options: TranscriptOptions = {},
): string[] {
  const limit = options.resultChars ?? 4_000;
  const refs = refsByElement(options.artifacts ?? {});
  return groups.map((group) => renderGroup(group, limit, refs)).filter((text) => text !== "");
}

/** References of stored texts by the element key of the message that they came from. */
export function refsByElement(artifacts: MemoryState["artifacts"]): ReadonlyMap<string, readonly string[]> {
  const refs = new Map<string, string[]>();
  for (const [ref, { of }] of Object.entries(artifacts)) {
    if (of !== undefined) refs.set(of, [...(refs.get(of) ?? []), ref]);
  }
  return refs;
}

function renderGroup(
  group: MessageGroup,
  limit: number,
  refs: ReadonlyMap<string, readonly string[]>,
): string {
  const facts = readGroup(group);
  const withRefs = (text: string, key: string, shorten: boolean): string => {
    const known = refs.get(key) ?? [];
    const cut = shorten ? cutMiddle(text, limit, whereIs(known[0], facts.step)) : text;
    const extra = cut.length === text.length || known.length > 1 ? known : [];
    return extra.length > 0 ? `${cut}\n[stored: ${extra.join(", ")}]` : cut;
  };
  if (group.kind !== "step") {
    const who = group.kind === "human" ? "User" : group.kind === "system" ? "System note" : "Note";
    return facts.said === "" ? "" : `${who}: ${withRefs(facts.said, facts.key, refs.has(facts.key))}`;
  }
  const lines = [`Step ${facts.step ?? "?"}`];
  if (facts.said !== "") lines.push(`Assistant: ${withRefs(facts.said, facts.key, false)}`);
  for (const call of facts.calls) {
    lines.push(`Call ${call.name}(${cutMiddle(call.argsText, limit, whereIs(undefined, facts.step))})`);
    if (call.result === undefined) lines.push("No result.");
    else lines.push(`${call.failed ? "Error" : "Result"}: ${withRefs(call.result, call.key, true)}`);
  }
  return lines.join("\n");
}

/** What is not stored by reference still stands in the messages of its step. */
function whereIs(ref: string | undefined, step: number | undefined): string {
  return `all of it: recall(${JSON.stringify(ref === undefined ? { steps: String(step ?? "?") } : { ref })})`;
}

/**
 * Packs entries into chunks of at most `maxTokens` each, in order; an entry that does not fit alone is cut into pieces, so
 * that no character is left out. Cost: linear.
 */
export function chunkEntries(entries: readonly string[], maxTokens: number): string[] {
  const chunks: string[] = [];
  let chunk = "";
  let used = 0;
  for (const entry of entries.flatMap((text) => pieces(text, maxTokens))) {
    const size = tokensAtMost(entry) + 1;
    if (used > 0 && used + size > maxTokens) {
      chunks.push(chunk);
      chunk = "";
      used = 0;
    }
    chunk = chunk === "" ? entry : `${chunk}\n\n${entry}`;
    used += size;
  }
  if (chunk !== "") chunks.push(chunk);
  return chunks;
}

function pieces(text: string, maxTokens: number): string[] {
  if (tokensAtMost(text) < maxTokens) return [text];
  const parts: string[] = [];
  // The dearest character costs 1.2 tokens, so that many always fit.
  const least = Math.max(1, Math.floor((maxTokens - 2) / 1.2));
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + Math.floor((maxTokens - 2) * 3));
    if (tokensAtMost(text.slice(from, to)) >= maxTokens) to = Math.min(text.length, from + least);
    const last = text.charCodeAt(to - 1);
    if (to < text.length && last >= 0xd800 && last <= 0xdbff && to - from > 1) to--;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

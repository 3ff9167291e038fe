import type { BaseMessage } from "@langchain/core/messages";
import { groupMessages } from "../messages/groups.ts";
import type { Artifact, ArtifactStore } from "../storage/artifact-store.ts";
import { readSummary, renderSummary } from "../summary/step-summary.ts";
import { renderTranscript } from "../summary/transcript.ts";

/** What the model asks for. One of `ref`, `steps` and `search`; `ref` or `steps` with `search` looks inside them. */
export interface RecallArgs {
  /** Reference of a stored text (`lh-…`). */
  readonly ref?: string | undefined;
  /** Agent steps, `7` or `5-9`. */
  readonly steps?: string | number | undefined;
  /** First character to read. @default 0 */
  readonly offset?: number | undefined;
  /** How many characters to read. @default as many as one answer holds */
  readonly length?: number | undefined;
  /** Words to look for, whatever their case. */
  readonly search?: string | undefined;
}

/** Where `recall` looks. */
export interface RecallSources {
  readonly thread: string;
  readonly artifacts: ArtifactStore;
  /** The raw history of the thread. */
  readonly messages: readonly BaseMessage[];
  /** Longest answer in characters; below the limit of large results, so that an answer is never offloaded itself. @default 6_000 */
  readonly maxChars?: number | undefined;
}

export const RECALL_MAX_CHARS = 6_000;
/** A search stops after so many characters of stored text and says so. */
const SEARCH_CHARS = 5_000_000;
const MOST_HITS = 12;
const AROUND = 140;

/**
 * Reads what has left the view: a stored text by reference, the transcript of steps, or a search over both. Always answers with a
 * text; what does not exist is said, not thrown. An answer that is only a part says how to get the next. Throws only when the store
 * does (damaged artifact). Cost: the text read; a search reads up to 5 million characters.
 */
export async function recall(args: RecallArgs, sources: RecallSources): Promise<string> {
  const max = sources.maxChars ?? RECALL_MAX_CHARS;
  const search = args.search?.trim();
  if (args.ref !== undefined && args.ref.trim() !== "") {
    const ref = refIn(args.ref);
    const artifact = await sources.artifacts.get(sources.thread, ref);
    if (!artifact) return missing(ref);
    const text = textOf(artifact);
    if (text === undefined) {
      return `${ref} is ${artifact.meta.label} (${artifact.meta.mediaType}, ${artifact.content.length} characters as data URL). It is kept, but it is not text, so it cannot be shown here.`;
    }
    if (search) return hitsIn(text, search, (at) => call({ ref, offset: at }), artifact.meta.label, max);
    return part(text, args, artifact.meta.label, (offset) => call({ ref, offset }), max);
  }
  if (args.steps !== undefined && String(args.steps).trim() !== "") {
    const range = stepsIn(args.steps);
    if (!range)
      return `\`steps\` must be one number or a range such as "5-9", but is "${String(args.steps).slice(0, 40)}".`;
    const { text, label } = transcriptOf(sources.messages, range);
    if (text === "") return `There are no messages of ${label} any more, or not yet.`;
    const steps = range[0] === range[1] ? String(range[0]) : `${range[0]}-${range[1]}`;
    if (search) return hitsIn(text, search, (at) => call({ steps, offset: at }), label, max);
    return part(text, args, label, (offset) => call({ steps, offset }), max);
  }
  if (search) return searchAll(search, sources, max);
  return 'Say what to recall: `ref` (a reference such as "lh-0123456789abcdef"), `steps` (such as "5-9"), or `search`.';
}

function missing(ref: string): string {
  return `There is no stored text ${ref} in this thread. Copy the reference exactly as it stands in the context, or use \`search\`.`;
}

/** Models wrap references in brackets, quotes or whole sentences. */
function refIn(given: string): string {
  return /lh-[0-9a-f]{16}/.exec(given)?.[0] ?? given.trim().slice(0, 100);
}

function stepsIn(given: string | number): readonly [number, number] | undefined {
  const match = /^\D*(\d{1,7})(?:\s*(?:-|–|—|to|\.\.)\s*(\d{1,7}))?\D*$/.exec(String(given).trim());
  if (!match) return undefined;
  const from = Number(match[1]);
  const to = Number(match[2] ?? match[1]);
  return from <= to ? [from, to] : [to, from];
}

/** undefined for what is not text. */
function textOf(artifact: Artifact): string | undefined {
  const { kind, mediaType } = artifact.meta;
  if (kind === "image" || artifact.content.startsWith("data:")) return undefined;
  if (kind === "summary" && mediaType === "application/json") {
    try {
      return renderSummary(readSummary(JSON.parse(artifact.content)));
    } catch {
      return artifact.content;
    }
  }
  return artifact.content;
}

function transcriptOf(
  messages: readonly BaseMessage[],
  [from, to]: readonly [number, number],
): { readonly text: string; readonly label: string } {
  const groups = groupMessages(messages);
  const first = groups.findIndex((group) => group.step !== undefined && group.step >= from);
  const last = groups.findLastIndex((group) => group.step !== undefined && group.step <= to);
  let start = first;
  // What the user said right before a step belongs to it.
  while (start > 0 && groups[start - 1]?.kind !== "step") start--;
  const chosen = first < 0 || last < first ? [] : groups.slice(start, last + 1);
  return {
    text: renderTranscript(chosen, { resultChars: Number.MAX_SAFE_INTEGER }),
    label: from === to ? `step ${from}` : `steps ${from}–${to}`,
  };
}

/** The call that reads on, as the model has to write it. */
function call(args: RecallArgs): string {
  return `recall(${JSON.stringify(args)})`;
}

/** A part of a text with a line that says which, and how to read on. */
function part(
  text: string,
  args: RecallArgs,
  label: string,
  next: (offset: number) => string,
  max: number,
): string {
  const offset = Math.max(0, Math.floor(args.offset ?? 0));
  if (text === "") return `${label}: empty.`;
  if (offset >= text.length)
    return `${label} has only ${text.length} characters; nothing stands at offset ${offset}.`;
  const room = max - 160 - Math.min(label.length, 200) - next(text.length).length;
  const wanted =
    args.length === undefined || !(args.length > 0) ? room : Math.min(Math.floor(args.length), room);
  let end = Math.min(text.length, offset + Math.max(1, wanted));
  const last = text.charCodeAt(end - 1);
  if (end < text.length && last >= 0xd800 && last <= 0xdbff) end = end - 1 > offset ? end - 1 : end + 1;
  const body = text.slice(offset, end).toWellFormed();
  if (offset === 0 && end === text.length) return `${label.slice(0, 200)}:\n${body}`;
  const rest = end < text.length ? `; next: ${next(end)}` : "; end";
  return `${label.slice(0, 200)}, characters ${offset}–${end} of ${text.length}${rest}\n${body}`;
}

/** Places of a phrase, or else the lines that hold all its words. */
function places(text: string, search: string): number[] {
  const lower = text.toLowerCase();
  const phrase = search.toLowerCase();
  // A few characters change their length in lower case; then positions in `lower` are not positions in `text`.
  if (lower.length !== text.length) return placesByLine(text, phrase.split(/\s+/));
  const found: number[] = [];
  for (
    let at = lower.indexOf(phrase);
    at >= 0 && found.length < MOST_HITS;
    at = lower.indexOf(phrase, at + Math.max(AROUND, phrase.length))
  ) {
    found.push(at);
  }
  return found.length > 0 ? found : placesByLine(text, phrase.split(/\s+/));
}

function placesByLine(text: string, words: readonly string[]): number[] {
  const found: number[] = [];
  for (let from = 0; from <= text.length && found.length < MOST_HITS; ) {
    const newline = text.indexOf("\n", from);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(from, end).toLowerCase();
    if (words.every((word) => line.includes(word)))
      found.push(from + Math.max(0, line.indexOf(words[0] as string)));
    from = end + 1;
  }
  return found;
}

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - AROUND / 2);
  const to = Math.min(text.length, at + AROUND);
  return `${from > 0 ? "…" : ""}${text.slice(from, to).replace(/\s+/g, " ")}${to < text.length ? "…" : ""}`.toWellFormed();
}

function hitsIn(
  text: string,
  search: string,
  read: (offset: number) => string,
  label: string,
  max: number,
): string {
  const found = places(text, search);
  if (found.length === 0) return `"${search.slice(0, 100)}" does not occur in ${label.slice(0, 200)}.`;
  const lines = found.map((at) => `- ${excerpt(text, at)}\n  ${read(Math.max(0, at - AROUND / 2))}`);
  return fit(`"${search.slice(0, 100)}" in ${label.slice(0, 200)}:`, lines, max);
}

async function searchAll(search: string, sources: RecallSources, max: number): Promise<string> {
  const lines: string[] = [];
  const groups = groupMessages(sources.messages);
  for (const [i, group] of groups.entries()) {
    if (group.kind === "system") continue;
    const text = renderTranscript([group], { resultChars: Number.MAX_SAFE_INTEGER });
    const at = places(text, search)[0];
    if (at === undefined) continue;
    const step = group.step ?? groups.slice(i).find((later) => later.step !== undefined)?.step;
    const where =
      group.step === undefined
        ? `said before step ${step ?? "to come"}${step === undefined ? "" : `: ${call({ steps: String(step) })}`}`
        : call({ steps: String(step), search });
    lines.push(`- ${excerpt(text, at)}\n  ${where}`);
  }
  // The newest are the likeliest to be meant.
  const recent = lines.slice(-MOST_HITS).reverse();
  const stored: string[] = [];
  let read = 0;
  for await (const { ref, meta, chars } of sources.artifacts.list(sources.thread)) {
    if (meta.kind === "image" || stored.length >= MOST_HITS) continue;
    if (read + chars > SEARCH_CHARS) {
      stored.push(`- not everything was searched: more than ${SEARCH_CHARS} characters are stored`);
      break;
    }
    read += chars;
    const artifact = await sources.artifacts.get(sources.thread, ref);
    const text = artifact && textOf(artifact);
    const at = text === undefined ? undefined : places(text, search)[0];
    if (text !== undefined && at !== undefined) {
      stored.push(
        `- ${meta.label.slice(0, 120)}: ${excerpt(text, at)}\n  ${call({ ref, offset: Math.max(0, at - AROUND) })}`,
      );
    }
  }
  if (recent.length + stored.length === 0) return `"${search.slice(0, 100)}" was not found in this thread.`;
  return fit(`"${search.slice(0, 100)}" was found here:`, [...stored, ...recent], max);
}

/** Whole lines as long as there is room, with the count of those left out. */
function fit(head: string, lines: readonly string[], max: number): string {
  let text = head;
  for (const [i, line] of lines.entries()) {
    if (text.length + line.length + 60 > max)
      return `${text}\n(${lines.length - i} more; search for something narrower)`;
    text += `\n${line}`;
  }
  return text;
}

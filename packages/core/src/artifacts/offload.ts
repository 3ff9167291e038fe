import { isGraphBubbleUp } from "@langchain/langgraph";
import type { ArtifactMeta, ArtifactStore } from "../storage/artifact-store.ts";

/** `lost`: the store did not take the text, so nothing may refer to it. */
export type OffloadResult = { readonly ref: string } | { readonly lost: true; readonly reason: string };

/**
 * Stores a text outside the context and reads it back before its reference is promised: a reference that leads nowhere is
 * worse than none. Never throws for a failing store. Equal content gives the same reference. Cost: one write, one read.
 *
 * @param ref name of the content when the caller gives one (a digest of inputs); the first content under a name stays.
 */
export async function offloadText(
  thread: string,
  content: string,
  meta: ArtifactMeta,
  store: ArtifactStore,
  ref?: string,
): Promise<OffloadResult> {
  try {
    const stored = await store.put(thread, content, { ...meta, label: oneLine(meta.label) }, ref);
    const found = await store.get(thread, stored);
    if (!found) return { lost: true, reason: "the store accepted the text but does not find it again" };
    if (ref === undefined && found.content !== content) {
      return { lost: true, reason: "the store gives back another text" };
    }
    return { ref: stored };
  } catch (error) {
    if (isGraphBubbleUp(error)) throw error;
    return { lost: true, reason: error instanceof Error ? error.message : String(error) };
  }
}

function oneLine(label: string): string {
  return label.replace(/\s+/g, " ").trim().slice(0, 200).toWellFormed();
}

/**
 * Head and tail of a text with a line between them that says what is missing and how to get it. The result is at most
 * `limitChars` long (but never shorter than that line) and well-formed. A text within the limit comes back as it is.
 *
 * @param ref reference of the full text, undefined when it is stored nowhere.
 */
export function shortenText(text: string, limitChars: number, ref: string | undefined): string {
  return cutMiddle(
    text,
    limitChars,
    ref === undefined ? "not stored" : `all of it: recall({"ref":"${ref}"})`,
  );
}

/** `shortenText` for a text that can be had in another way: `where` says how. */
export function cutMiddle(text: string, limitChars: number, where: string): string {
  if (text.length <= limitChars) return text;
  // The count of left-out characters may have as many digits as the text's length has; the line is sized with that.
  const line = (left: number) => `\n[… ${left} of ${text.length} characters left out; ${where} …]\n`;
  const room = Math.max(0, limitChars - line(text.length).length);
  let head = Math.ceil((room * 2) / 3);
  let tail = text.length - (room - head);
  // Half of a surrogate pair is no character.
  if (isHigh(text, head - 1)) head--;
  if (isHigh(text, tail - 1)) tail++;
  return (text.slice(0, head) + line(tail - head) + text.slice(tail)).toWellFormed();
}

function isHigh(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}

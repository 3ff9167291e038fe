import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { messageText } from "../messages/message-text.ts";
import { parseSummary, type SummaryDraft } from "./parse-summary.ts";
import type { SummaryFailure } from "./summary-events.ts";

export type ReadAnswer =
  | { readonly ok: true; readonly draft: SummaryDraft }
  | { readonly ok: false; readonly reason: SummaryFailure; readonly message: string };

/**
 * What a summariser's message holds: a draft, or the typed reason why it is none.
 *
 * @param asked the instructions that it was given: weak models repeat them, and the example form in them is no answer.
 */
export function readAnswer(message: BaseMessage, asked: readonly string[] = []): ReadAnswer {
  const said = messageText(message).replace(/<think(?:ing)?>[\s\S]*?(?:<\/think(?:ing)?>|$)/gi, "");
  const text = asked
    .flatMap((instruction) => instruction.split("\n"))
    .filter((line) => line.trim().length >= 12)
    .reduce((rest, line) => rest.replaceAll(line, () => ""), said)
    .replace(/<\/?longhaul-transcript[^>]*>/g, "")
    .trim();
  const cut = isCut(message);
  if (text === "") {
    if (((message as AIMessage).tool_calls?.length ?? 0) > 0) {
      return {
        ok: false,
        reason: "tool-call-only",
        message: "the summariser called a tool instead of answering",
      };
    }
    if (hasReasoning(message)) {
      return { ok: false, reason: "reasoning-only", message: "the summariser reasoned and gave no answer" };
    }
    if (cut)
      return { ok: false, reason: "truncated", message: "the output limit was reached before any text" };
    return { ok: false, reason: "empty", message: "the summariser gave no text" };
  }
  const draft = parseSummary(text);
  // Whole JSON is whole, whatever the provider says; cut prose may lack anything.
  if (draft && !(cut && !draft.structured)) return { ok: true, draft };
  return cut
    ? {
        ok: false,
        reason: "truncated",
        message: "the output limit was reached before the summary was complete",
      }
    : { ok: false, reason: "malformed", message: "the answer is not a summary in the form asked for" };
}

function isCut(message: BaseMessage): boolean {
  const meta = (message.response_metadata ?? {}) as Record<string, unknown>;
  const details = meta.incomplete_details as { reason?: unknown } | undefined | null;
  return [meta.finish_reason, meta.finishReason, meta.stop_reason, meta.stopReason, details?.reason].some(
    (reason) => /^(?:length|max_tokens|max_output_tokens|model_length|incomplete)$/i.test(String(reason)),
  );
}

function hasReasoning(message: BaseMessage): boolean {
  const content = message.content as unknown;
  const kwargs = message.additional_kwargs as Record<string, unknown> | undefined;
  return (
    (Array.isArray(content) &&
      content.some((block) => /reason|think/i.test(String((block as { type?: unknown } | null)?.type)))) ||
    (typeof content === "string" && /<think/i.test(content)) ||
    Boolean(kwargs?.reasoning_content ?? kwargs?.reasoning)
  );
}

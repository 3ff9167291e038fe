import type { BaseMessage } from "@langchain/core/messages";
import { isAssistant } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import type { LonghaulValues } from "../state/channels.ts";
import { causeText, type EndCause } from "./budget-notices.ts";

/** Characters of the last assistant text that a report repeats. */
const LAST_TEXT = 2_000;

/**
 * The closing message of a run for which not even one more model call is left: made by code from the progress checkpoint, the
 * summaries and the last assistant text. Same state, same report.
 */
export function stopReport(
  cause: EndCause,
  values: Pick<LonghaulValues, "_longhaulProgress" | "_longhaulMemory">,
  messages: readonly BaseMessage[],
): string {
  const latest = values._longhaulProgress?.latest;
  const outputs = (values._longhaulMemory?.summaries ?? []).flatMap((summary) => summary.outputs);
  const lastText = messages
    .filter(isAssistant)
    .map((message) => messageText(message).trim())
    .findLast((text) => text !== "");
  const sections = [
    `The run was stopped. ${causeText(cause)} The result is partial.`,
    section("Done", latest?.done ?? []),
    section(
      "Facts",
      (latest?.facts ?? []).map(({ text, source }) => `${text} (${source})`),
    ),
    section(
      "Results so far",
      outputs.map(({ value, source }) => `${value} (${source})`),
    ),
    section("Still to do", latest?.todo ?? []),
    section("Open", latest?.open ?? []),
    lastText === undefined ? "" : `Last words of the agent:\n${cut(lastText)}`,
    "Raise the limit to go on from here.",
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

function section(title: string, items: readonly string[]): string {
  return items.length === 0 ? "" : `${title}:\n${items.map((item) => `- ${item}`).join("\n")}`;
}

function cut(text: string): string {
  return text.length <= LAST_TEXT ? text : `${text.slice(0, LAST_TEXT)}…`;
}

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { messageText } from "./message-text.ts";

/**
 * A line from Longhaul to the model, for one request only: a hint, a budget level, a resume note. It stands at the very
 * end of the request, is fenced as Longhaul's, and is never stored in `messages`.
 */
export interface Notice {
  readonly kind: "resume" | "budget" | "loop" | "progress" | "context";
  readonly text: string;
}

const FIELD = "longhaul_notices";

/**
 * Adds a notice behind the messages of a request, without mutating any. Providers refuse two human messages in a row, so
 * behind a human message the notice becomes one more text block of a copy of it. `takeNotices` undoes it exactly.
 */
export function appendNotice(messages: readonly BaseMessage[], notice: Notice): BaseMessage[] {
  const { messages: plain, notices } = takeNotices(messages);
  return withNotices(plain, [...notices, notice]);
}

/** Splits what `appendNotice` added from a request. Messages without notices keep their identity. */
export function takeNotices(messages: readonly BaseMessage[]): {
  readonly messages: readonly BaseMessage[];
  readonly notices: readonly Notice[];
} {
  const last = messages.at(-1);
  const carried = last && carriedBy(last);
  if (!carried) return { messages, notices: [] };
  return {
    messages: carried.original ? [...messages.slice(0, -1), carried.original] : messages.slice(0, -1),
    notices: carried.notices,
  };
}

/** Puts notices behind plain messages: the one place that decides how they look on the wire. */
export function withNotices(messages: readonly BaseMessage[], notices: readonly Notice[]): BaseMessage[] {
  if (notices.length === 0) return [...messages];
  const text = renderNotices(notices);
  const last = messages.at(-1);
  if (last?.getType() !== "human") {
    return [...messages, carrier(new HumanMessage({ content: text }), notices, undefined)];
  }
  const blocks =
    typeof last.content === "string" ? [{ type: "text" as const, text: last.content }] : last.content;
  const merged = new HumanMessage({
    content: [...blocks, { type: "text", text }] as HumanMessage["content"],
    ...(last.id === undefined ? {} : { id: last.id }),
    ...(last.name === undefined ? {} : { name: last.name }),
  });
  return [...messages.slice(0, -1), carrier(merged, notices, last)];
}

export function renderNotices(notices: readonly Notice[]): string {
  const lines = notices.map(
    (notice) => `<longhaul-notice kind="${notice.kind}">\n${fence(notice.text)}\n</longhaul-notice>`,
  );
  return lines.join("\n");
}

/** Text that cannot close or open a fence of Longhaul's. */
export function fence(text: string): string {
  return text.replace(/<([\s/]*)(longhaul)/gi, "‹$1$2");
}

/** Not serialised with the message: a request lives for one call. */
const carriers = new WeakMap<
  BaseMessage,
  { notices: readonly Notice[]; original: BaseMessage | undefined }
>();

function carrier(
  message: HumanMessage,
  notices: readonly Notice[],
  original: BaseMessage | undefined,
): HumanMessage {
  message.additional_kwargs = { ...message.additional_kwargs, [FIELD]: notices.map((notice) => notice.kind) };
  carriers.set(message, { notices, original });
  return message;
}

function carriedBy(
  message: BaseMessage,
): { notices: readonly Notice[]; original: BaseMessage | undefined } | undefined {
  return carriers.get(message);
}

/** Whether a human message is only Longhaul's (nothing of the user's in it). */
export function isNoticeOnly(message: BaseMessage): boolean {
  const carried = carriedBy(message);
  return (
    carried !== undefined &&
    carried.original === undefined &&
    messageText(message).startsWith("<longhaul-notice")
  );
}

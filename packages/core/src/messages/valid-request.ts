import { type BaseMessage, HumanMessage, type SystemMessage } from "@langchain/core/messages";
import { uniqueCallIds } from "./call-ids.ts";
import { cleanContent, contentBlocks, isBlank } from "./content-blocks.ts";
import { copyMessage } from "./copy-message.ts";
import { groupMessages, type MessageGroup } from "./groups.ts";
import { messageText } from "./message-text.ts";
import { fence } from "./notices.ts";
import { validStep } from "./valid-assistant.ts";

/**
 * Any history as a request that OpenAI-, Anthropic- and Gemini-like providers all accept:
 *
 * at most one system message, at index 0; first other message human, never two human messages in a row; every call
 * answered exactly once, directly behind its message, by a typed placeholder where the history has no result; no result
 * without its call; call ids unique (except beside signed blocks); nothing empty; text well-formed. System messages in
 * mid-conversation and results without a call travel as fenced text in human messages.
 *
 * Nothing is mutated; a message that needs no repair is passed on as the same object. Cost: linear.
 *
 * @param options.system text of a system prompt that is sent in front of the result: leading system messages then become
 *   notes, unless they say the same.
 */
export function validRequest(
  messages: readonly BaseMessage[],
  options: { readonly system?: string | undefined } = {},
): BaseMessage[] {
  const leading = messages.findIndex((message) => message.getType() !== "system");
  const cut = leading === -1 ? messages.length : leading;
  const head = options.system ? [] : messages.slice(0, cut);
  const rest = options.system ? messages : messages.slice(cut);
  return validGroups(head, groupMessages(rest), options.system);
}

/**
 * The same for a history that is already in groups.
 *
 * @param head leading system messages; they become one, whose text is unchanged when there is only one
 */
export function validGroups(
  head: readonly BaseMessage[],
  groups: readonly MessageGroup[],
  systemText?: string | undefined,
): BaseMessage[] {
  const system = mergeSystem(head);
  const known = new Set([systemText, system && messageText(system)]);
  const ids = uniqueCallIds(groups);
  const body: BaseMessage[] = [];
  let humans: BaseMessage[] = [];
  const flush = () => {
    const merged = mergeHumans(humans);
    if (merged) body.push(merged);
    humans = [];
  };
  for (const group of groups) {
    if (group.kind === "step") {
      const step = validStep(group, ids.get(group) ?? []);
      if (step.length === 0) continue;
      flush();
      body.push(...step);
    } else if (group.kind === "human") humans.push(...group.messages);
    else humans.push(...group.messages.flatMap((message) => noteOf(message, known)));
  }
  flush();
  if (body[0]?.getType() !== "human") {
    const who = body.length === 0 ? "has no message yet" : "begins with the assistant's message";
    body.unshift(new HumanMessage(note("start", `The conversation ${who}.`)));
  }
  return system ? [system, ...body] : body;
}

function mergeSystem(head: readonly BaseMessage[]): SystemMessage | undefined {
  const told = head.filter((message) => !isBlank(message.content)) as SystemMessage[];
  const first = told[0];
  if (!first) return undefined;
  const joined =
    told.length > 1 ? told.flatMap((message) => [...contentBlocks(message.content)]) : first.content;
  const content = cleanContent(joined);
  return content === first.content ? first : copyMessage(first, { content });
}

function mergeHumans(messages: readonly BaseMessage[]): BaseMessage | undefined {
  const told = messages
    .map((message) => ({ message, content: cleanContent(message.content) }))
    .filter(({ content }) => !isBlank(content));
  // The last one with an id is the user's; Longhaul's own have none.
  const last = told.findLast(({ message }) => message.id !== undefined) ?? told.at(-1);
  if (!last) return undefined;
  if (told.length === 1)
    return last.content === last.message.content
      ? last.message
      : copyMessage(last.message, { content: last.content });
  return copyMessage(last.message, { content: told.flatMap(({ content }) => [...contentBlocks(content)]) });
}

/** A message whose role the request has no place for, as text of human rank that says what it is. */
function noteOf(message: BaseMessage, known: ReadonlySet<string | undefined>): BaseMessage[] {
  const text = messageText(message);
  if (text.trim() === "" || known.has(text)) return [];
  const type = message.getType();
  const kind = type === "tool" ? "tool-result" : type === "system" ? "system" : "message";
  return [new HumanMessage(note(kind, text, message.name))];
}

function note(kind: string, text: string, name?: string | undefined): string {
  const label = name === undefined ? "" : ` name="${fence(name).replace(/["<>\n]/g, "")}"`;
  return `<longhaul-note kind="${kind}"${label}>\n${fence(text)}\n</longhaul-note>`;
}

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import type { LonghaulValues } from "@longhaul/core";

/** What the handler of `wrapModelCall` really returns: the declared message, or structured output with its messages. */
export type ModelCallResult =
  | AIMessage
  | { readonly structuredResponse: unknown; readonly messages: BaseMessage[] }
  | Command;

/**
 * Answers that a wrapper replaced. The agent hands the model's own answer to the wrappers further out, whatever was put in
 * its place; without this they would overlook a seal and write the old answer over it.
 */
const replacements = new WeakMap<AIMessage, AIMessage>();

/** Puts a message of the same id in the place of the model's answer: `commitModelCall` stores it, `answerOf` shows it. */
export function replaceAnswer(answer: AIMessage, replacement: AIMessage): AIMessage {
  replacements.set(answer, replacement);
  return replacement;
}

/**
 * Returns from `wrapModelCall` with a state update.
 *
 * A bare Command would destroy structured output (the handler's `structuredResponse` and the answer to its `extract-`
 * call would be dropped), so what the handler returned travels in the Command too. Every wrapper of Longhaul returns
 * through here. With an empty update the result goes through untouched.
 */
export function commitModelCall(result: ModelCallResult, update: LonghaulValues): AIMessage | Command {
  const changed = Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined));
  if (Object.keys(changed).length === 0) return result as AIMessage | Command;
  if (isCommand(result)) {
    const earlier = Array.isArray(result.update) ? result.update : Object.entries(result.update ?? {});
    return new Command({
      ...(result.graph === undefined ? {} : { graph: result.graph }),
      ...(result.goto === undefined ? {} : { goto: result.goto }),
      ...(result.resume === undefined ? {} : { resume: result.resume }),
      update: [...(earlier as [string, unknown][]), ...Object.entries(changed)],
    });
  }
  if (isStructured(result)) {
    return new Command({
      update: { ...changed, messages: result.messages, structuredResponse: result.structuredResponse },
    });
  }
  const answer = result as AIMessage;
  return new Command({ update: { ...changed, messages: [replacements.get(answer) ?? answer] } });
}

/** The assistant message in a handler's result, for wrappers that look at the answer. */
export function answerOf(result: ModelCallResult): AIMessage | undefined {
  if (isCommand(result)) {
    const entries = Array.isArray(result.update) ? result.update : Object.entries(result.update ?? {});
    const messages = (entries as [string, unknown][]).findLast(([key]) => key === "messages")?.[1];
    return Array.isArray(messages) ? messages.find((message) => AIMessage.isInstance(message)) : undefined;
  }
  if (isStructured(result))
    return result.messages.find((message) => AIMessage.isInstance(message)) as AIMessage | undefined;
  return replacements.get(result as AIMessage) ?? (result as AIMessage);
}

function isStructured(
  result: ModelCallResult,
): result is { structuredResponse: unknown; messages: BaseMessage[] } {
  return (
    typeof result === "object" && result !== null && "structuredResponse" in result && "messages" in result
  );
}

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import { type LonghaulValues, latestAnswer } from "@longhaul/core";

/** What the handler of `wrapModelCall` really returns: the declared message, or structured output with its messages. */
export type ModelCallResult = AIMessage | StructuredResult | Command;

interface StructuredResult {
  readonly structuredResponse: unknown;
  readonly messages: BaseMessage[];
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
    return new Command({
      ...(result.graph === undefined ? {} : { graph: result.graph }),
      ...(result.goto === undefined ? {} : { goto: result.goto }),
      ...(result.resume === undefined ? {} : { resume: result.resume }),
      update: [...entriesOf(result), ...Object.entries(changed)],
    });
  }
  if (isStructured(result)) {
    const answer = answerOf(result);
    if (answer) structuredAnswers.add(answer);
    return new Command({
      update: { ...changed, messages: result.messages, structuredResponse: result.structuredResponse },
    });
  }
  // An inner guard may have replaced the answer: outer Commands are applied later and must not bring it back.
  return new Command({ update: { ...changed, messages: [latestAnswer(result as AIMessage)] } });
}

/**
 * Assistant messages that carried structured output. Once an inner wrapper has returned a Command, the outer ones are handed only
 * the message, with a "tool call" in it that is answered already.
 */
const structuredAnswers = new WeakSet<AIMessage>();

/** Whether a handler's result is structured output, also where only its assistant message is handed on. */
export function isStructuredAnswer(result: ModelCallResult): boolean {
  if (isStructured(result)) return true;
  if (isCommand(result)) return entriesOf(result).some(([key]) => key === "structuredResponse");
  return structuredAnswers.has(result as AIMessage);
}

/** The assistant message in a handler's result, as guards have left it, for wrappers that look at the answer. */
export function answerOf(result: ModelCallResult): AIMessage | undefined {
  const found = messagesOf(result).find((message) => AIMessage.isInstance(message)) as AIMessage | undefined;
  return found && latestAnswer(found);
}

function messagesOf(result: ModelCallResult): readonly BaseMessage[] {
  if (isStructured(result)) return result.messages;
  if (!isCommand(result)) return [result as AIMessage];
  const messages = entriesOf(result).findLast(([key]) => key === "messages")?.[1];
  return Array.isArray(messages) ? messages : [];
}

function entriesOf(command: Command): readonly [string, unknown][] {
  const { update } = command;
  return (Array.isArray(update) ? update : Object.entries(update ?? {})) as [string, unknown][];
}

function isStructured(result: ModelCallResult): result is StructuredResult {
  return (
    typeof result === "object" && result !== null && "structuredResponse" in result && "messages" in result
  );
}

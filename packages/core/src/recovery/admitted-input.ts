import {
  type BaseMessage,
  type BaseMessageLike,
  coerceMessageLikeToMessage,
  HumanMessage,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import { digest } from "../json/canonical-json.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { messageText } from "../messages/message-text.ts";
import type { AdmittedInput } from "./run-record.ts";
import type { PendingInterrupt } from "./supervisable-graph.ts";

/** An input as admission sees it. */
export interface DescribedInput {
  /** `none`: null or undefined, "go on"; `answer`: a Command that answers interrupts; `value`: anything else. */
  readonly kind: "none" | "answer" | "value";
  readonly admitted: AdmittedInput;
  /** Messages of the input, coerced; empty when it has none. */
  readonly messages: readonly BaseMessage[];
}

/**
 * Describes an input without changing it. Message ids are left out of the digest: LangGraph writes ids into the messages
 * that it is given, and a client may make new ones for each request, but it is the same input.
 */
export function describeInput(input: unknown): DescribedInput {
  if (input === null || input === undefined) {
    return { kind: "none", admitted: { digest: null, stored: null }, messages: [] };
  }
  if (isCommand(input)) {
    const { resume, update, goto } = input as { resume?: unknown; update?: unknown; goto?: unknown };
    const plainAnswer = resume !== undefined && isEmpty(update) && isEmpty(goto);
    const stored = plainAnswer ? asJson({ answer: resume }) : null;
    return {
      kind: resume === undefined ? "value" : "answer",
      admitted: { digest: digestOf(["command", resume, update, goto]), stored },
      messages: [],
    };
  }
  const messages = messagesOf(input);
  const rest = messages ? withoutMessages(input as Record<string, unknown>) : input;
  const dicts = messages?.map((message) => message.toDict());
  return {
    kind: "value",
    admitted: {
      digest: digestOf(["value", dicts?.map(withoutId), rest]),
      stored: asJson(dicts ? { messages: dicts, rest } : { value: rest }),
    },
    messages: messages ?? [],
  };
}

/**
 * The same answer, addressed to the one question that is open. LangGraph keeps an answer without an address with the
 * checkpoint, and after a crash gives it to the task's next question too.
 */
export function addressAnswer(input: unknown, pending: readonly PendingInterrupt[]): unknown {
  const { resume, update, goto } = input as Command;
  const id = pending[0]?.id;
  if (pending.length !== 1 || id === undefined || isAddressed(resume)) return input;
  return new Command({
    resume: { [id]: resume },
    ...(isEmpty(update) ? {} : { update }),
    ...(isEmpty(goto) ? {} : { goto }),
  });
}

/** LangGraph's own test: all keys are ids of interrupts. */
function isAddressed(resume: unknown): boolean {
  if (typeof resume !== "object" || resume === null || Array.isArray(resume)) return false;
  const keys = Object.keys(resume);
  return keys.length > 0 && keys.every((key) => /^[0-9a-f]{32}$/.test(key));
}

/** The input that a record holds, undefined when it could not be stored. */
export function restoreInput(stored: Json): unknown {
  if (typeof stored !== "object" || stored === null) return undefined;
  const form = stored as JsonObject;
  if ("answer" in form) return new Command({ resume: form.answer });
  if ("value" in form) return form.value;
  const messages = mapStoredMessagesToChatMessages(form.messages as unknown as StoredMessage[]);
  return { ...(form.rest as JsonObject), messages };
}

/** The new input with the messages of one that was admitted and never reached the state: nothing said is lost. */
export function carryOver(earlier: unknown, input: unknown): unknown {
  const before = messagesOf(earlier);
  const after = messagesOf(input);
  if (!before || !after) return input;
  return { ...(earlier as object), ...(input as object), messages: [...before, ...after] };
}

/** Whether the state's last human turn is this input: how an input is recognised where no run record survived. */
export function isLastTurn(messages: readonly BaseMessage[], input: DescribedInput): boolean {
  const said = input.messages.filter((message) => HumanMessage.isInstance(message)).map(messageText);
  const heard = messages.filter((message) => HumanMessage.isInstance(message)).map(messageText);
  return said.length > 0 && said.every((text, i) => heard[heard.length - said.length + i] === text);
}

function messagesOf(input: unknown): BaseMessage[] | undefined {
  const messages = (input as { messages?: unknown } | null | undefined)?.messages;
  if (messages === undefined || messages === null) return undefined;
  try {
    const list = (Array.isArray(messages) && !isTuple(messages) ? messages : [messages]) as BaseMessageLike[];
    return list.map((message) => coerceMessageLikeToMessage(message));
  } catch {
    return undefined;
  }
}

/** `["human", "text"]` is one message. */
function isTuple(value: readonly unknown[]): boolean {
  return value.length === 2 && value.every((part) => typeof part === "string");
}

function withoutMessages({ messages: _, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest;
}

function withoutId(dict: StoredMessage): unknown {
  return { ...dict, data: { ...dict.data, id: undefined } };
}

function digestOf(value: unknown): string | null {
  try {
    return digest(value);
  } catch {
    return null;
  }
}

/** A JSON copy, null when JSON would not give back the same. */
function asJson(value: unknown): Json {
  try {
    const copy = JSON.parse(JSON.stringify(value)) as Json;
    return digest(copy) === digest(value) ? copy : null;
  } catch {
    return null;
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

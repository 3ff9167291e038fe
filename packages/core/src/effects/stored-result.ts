import {
  BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Command, isCommand, Send } from "@langchain/langgraph";
import type { Json, JsonObject } from "../json/json.ts";

/** The result holds something that JSON cannot: it is not stored, and a replay can only say that the call was done. */
export class NotStorable extends Error {}

const TAG = "$longhaul";
const MAX_DEPTH = 200;

/**
 * What a tool returned (a value, a ToolMessage, a Command) as JSON.
 *
 * Only what this file tags comes back as a class; data that looks like a tag is escaped, so that a tool's output cannot
 * revive one.
 *
 * @throws NotStorable
 */
export function encodeResult(value: unknown, callId: string | undefined): Json {
  return encode(value, callId, 0);
}

/** Undoes `encodeResult`; tool messages that answered its call answer `callId` instead. */
export function decodeResult(value: Json, callId: string | undefined): unknown {
  return decode(value, callId);
}

function encode(value: unknown, callId: string | undefined, depth: number): Json {
  if (depth > MAX_DEPTH) throw new NotStorable("nested too deeply");
  const inner = (part: unknown) => encode(part, callId, depth + 1);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new NotStorable("not a finite number");
      return value;
    case "undefined":
      return null;
    case "object":
      break;
    default:
      throw new NotStorable(`a ${typeof value}`);
  }
  if (value === null) return null;
  if (Array.isArray(value)) return value.map(inner);
  if (BaseMessage.isInstance(value)) {
    const stored = mapChatMessagesToStoredMessages([value])[0] as StoredMessage;
    const own = ToolMessage.isInstance(value) && value.tool_call_id === callId;
    return { [TAG]: "message", type: stored.type, own, data: encodeFields(stored.data, inner) };
  }
  if (isCommand(value)) {
    const { graph, update, resume, goto } = value as Command;
    return { [TAG]: "command", ...encodeFields({ graph, update, resume, goto }, inner) };
  }
  if (value instanceof Send || (value as { lg_name?: unknown }).lg_name === "Send") {
    const { node, args } = value as Send;
    return { [TAG]: "send", node, args: inner(args) };
  }
  const prototype = Object.getPrototypeOf(value) as unknown;
  if (prototype !== null && prototype !== Object.prototype)
    throw new NotStorable(value.constructor?.name ?? "a class");
  const fields = encodeFields(value, inner);
  return Object.hasOwn(fields, TAG) ? { [TAG]: "object", fields } : fields;
}

function encodeFields(value: object, inner: (part: unknown) => Json): JsonObject {
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return Object.fromEntries(entries.map(([key, part]) => [key, inner(part)]));
}

function decode(value: Json, callId: string | undefined): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((part: Json) => decode(part, callId));
  const object = value as JsonObject;
  switch (object[TAG]) {
    case undefined:
      return decodeFields(object, callId);
    case "object":
      return decodeFields(object.fields as JsonObject, callId);
    case "message":
      return decodeMessage(object, callId);
    case "command": {
      const { [TAG]: _tag, ...fields } = object;
      return new Command(decodeFields(fields, callId));
    }
    default:
      return new Send(object.node as string, decode(object.args as Json, callId));
  }
}

function decodeFields(object: JsonObject, callId: string | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, part]) => [key, decode(part, callId)]));
}

function decodeMessage(object: JsonObject, callId: string | undefined): BaseMessage {
  const data = decodeFields(object.data as JsonObject, callId);
  const own = object.own === true && callId !== undefined ? { tool_call_id: callId } : {};
  const stored = { type: object.type, data: { ...data, ...own } } as unknown as StoredMessage;
  return mapStoredMessagesToChatMessages([stored])[0] as BaseMessage;
}

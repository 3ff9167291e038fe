import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { binaryBlocks, withoutBase64 } from "../artifacts/binary-blocks.ts";
import { elementKey, type MessageGroup } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import { redactSecrets } from "./secrets.ts";

/** One tool call of a group with what came of it. Texts are without secrets and base64. */
export interface CallFacts {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly argsText: string;
  readonly key: string;
  /** undefined: no result (crash, rejection, still running). */
  readonly result?: string | undefined;
  /** The result as a value when it is JSON. */
  readonly json?: unknown;
  readonly failed: boolean;
}

/** What a group says, as plain text: no signed or opaque block, no base64, no secret. */
export interface GroupFacts {
  readonly kind: MessageGroup["kind"];
  readonly step?: number | undefined;
  /** Text of the message itself: the assistant's, the user's. */
  readonly said: string;
  readonly calls: readonly CallFacts[];
  /** Key under which a stored copy of the message's own text is listed in `MemoryState.artifacts`. */
  readonly key: string;
}

/** Groups are never changed, so what was read once stays right; a fold reads each group several times. */
const cache = new WeakMap<MessageGroup, GroupFacts>();

/** Reads a group. Cost: linear in its text, once per group object. */
export function readGroup(group: MessageGroup): GroupFacts {
  let facts = cache.get(group);
  if (!facts) {
    facts = read(group);
    cache.set(group, facts);
  }
  return facts;
}

function read(group: MessageGroup): GroupFacts {
  const [first, ...rest] = group.messages;
  if (!first) return { kind: group.kind, said: "", calls: [], key: "" };
  const results = new Map<string, ToolMessage>();
  for (const message of rest) {
    if (message.getType() === "tool")
      results.set((message as ToolMessage).tool_call_id, message as ToolMessage);
  }
  const calls = AIMessage.isInstance(first) ? (first.tool_calls ?? []) : [];
  return {
    kind: group.kind,
    step: group.step,
    said: plainText(first),
    key: elementKey(first, undefined),
    calls: calls.map((call, i) => readCall(first, call, results.get(call.id ?? `#${i}`))),
  };
}

function readCall(
  assistant: BaseMessage,
  call: { readonly name: string; readonly args: Record<string, unknown>; readonly id?: string | undefined },
  message: ToolMessage | undefined,
): CallFacts {
  const result = message && plainText(message);
  const json = result === undefined ? undefined : parseJson(result);
  return {
    name: call.name,
    args: call.args,
    argsText: plain(argsJson(call.args)),
    key: elementKey(assistant, call.id),
    result,
    json,
    failed: message !== undefined && isFailure(message, result ?? "", json),
  };
}

/** Text of a message with the addresses of pictures that are kept elsewhere. */
function plainText(message: BaseMessage): string {
  const addresses = binaryBlocks(message).flatMap((block) =>
    block.url ? [`[${block.kind}: ${block.url}]`] : [],
  );
  return plain([messageText(message), ...addresses].filter(Boolean).join("\n"));
}

function plain(text: string): string {
  return redactSecrets(withoutBase64(text)).toWellFormed();
}

function argsJson(args: unknown): string {
  try {
    return (
      JSON.stringify(args, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value)) ?? "{}"
    );
  } catch {
    return "[arguments that cannot be shown]";
  }
}

/** Parsing is only for the fields of small and middling results; large ones are read as text. */
const PARSE_LIMIT = 50_000;

function parseJson(text: string): unknown {
  if (text.length > PARSE_LIMIT || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const FAILURE =
  /^\s*(?:\w*(?:error|exception)\b\s*[:(\n]|error$|traceback \(most recent|failed\b|failure\b|fatal:|(?:http )?[45]\d\d\b[ :]|permission denied|command not found|错误|失败|异常)/i;

function isFailure(message: ToolMessage, text: string, json: unknown): boolean {
  if (message.status === "error") return true;
  if (typeof json === "object" && json !== null && !Array.isArray(json)) {
    const { error, ok, success } = json as Record<string, unknown>;
    return (
      (error !== undefined && error !== null && error !== false && error !== "") ||
      ok === false ||
      success === false
    );
  }
  return FAILURE.test(text.slice(0, 200));
}

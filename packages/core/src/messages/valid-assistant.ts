import { type AIMessage, ToolMessage } from "@langchain/core/messages";
import { cleanContent, contentBlocks, isBlank } from "./content-blocks.ts";
import { copyMessage } from "./copy-message.ts";
import type { MessageGroup } from "./groups.ts";
import { isSigned, isSignedBlock } from "./signed-blocks.ts";
import { wellFormed } from "./well-formed.ts";

/** What the view says where the history holds no result. */
export const DANGLING_RESULT: string =
  "[No result was recorded: the call was interrupted or rejected. Its outcome is unknown; verify before you repeat it.]";
const EMPTY_RESULT = "[The tool returned nothing.]";

interface RawCall {
  readonly id?: string;
}

/**
 * An assistant message and its answers as providers accept them: every call answered directly behind it, in the order of
 * the calls; ids as given; nothing empty. Empty when the message says nothing and calls nothing.
 *
 * @param ids of the calls, by position (see `uniqueCallIds`)
 */
export function validStep(group: MessageGroup, ids: readonly string[]): (AIMessage | ToolMessage)[] {
  const original = group.messages[0] as AIMessage;
  const signed = isSigned(original);
  const unparsed = unparsedCalls(original);
  const message = signed ? cleaned(original) : renamed(withoutUnparsed(cleaned(original), unparsed), ids);
  if (group.calls.length === 0 && isBlank(message.content) && !signed) return [];
  const answers = group.calls.map((call, i) => answer(ids[i] as string, call.name, call.result));
  // A signed message keeps its malformed calls, so they need an answer too.
  const refused = signed ? [...unparsed].map((id) => answer(id, "unknown", undefined)) : [];
  return [message, ...answers, ...refused];
}

function answer(id: string, name: string, result: ToolMessage | undefined): ToolMessage {
  if (!result) {
    const additional_kwargs = { longhaul: "dangling" };
    return new ToolMessage({
      tool_call_id: id,
      name,
      content: DANGLING_RESULT,
      status: "error",
      additional_kwargs,
    });
  }
  const content = cleanContent(result.content);
  const fields: Partial<ToolMessage> = {
    ...(result.tool_call_id === id ? {} : { tool_call_id: id }),
    ...(isBlank(content) ? { content: EMPTY_RESULT } : content === result.content ? {} : { content }),
  };
  return Object.keys(fields).length === 0 ? result : copyMessage(result, fields);
}

function cleaned(message: AIMessage): AIMessage {
  const content = cleanContent(message.content);
  const calls = isSigned(message) ? message.tool_calls : wellFormed(message.tool_calls);
  if (content === message.content && calls === message.tool_calls) return message;
  return copyMessage(message, { content, ...(calls ? { tool_calls: calls } : {}) });
}

/** Ids of calls that were never parsed (broken arguments): nothing ran them, and clients would send them all the same. */
function unparsedCalls(message: AIMessage): ReadonlySet<string> {
  const parsed = new Set((message.tool_calls ?? []).map((call) => call.id));
  const raw = [...rawCalls(message), ...callBlocks(message)].map((call) => call.id ?? "");
  return new Set(raw.filter((id) => !parsed.has(id)));
}

function withoutUnparsed(message: AIMessage, unparsed: ReadonlySet<string>): AIMessage {
  if (unparsed.size === 0) return message;
  const isKept = (call: RawCall) => !unparsed.has(call.id ?? "");
  const blocks = contentBlocks(message.content).filter((block) => !isCallBlock(block) || isKept(block));
  const { tool_calls: raw, ...rest } = message.additional_kwargs as { tool_calls?: RawCall[] };
  const kept = raw?.filter(isKept);
  const said = isBlank([...blocks]) && message.tool_calls?.length === 0;
  return copyMessage(message, {
    content: said
      ? "[A tool call with malformed arguments was not run.]"
      : typeof message.content === "string"
        ? message.content
        : [...blocks],
    additional_kwargs: kept && kept.length > 0 ? { ...rest, tool_calls: kept as never } : rest,
  });
}

/** The n-th bearer of an id, in whatever form it stands, gets the id of the n-th call with it. */
function renamed(message: AIMessage, ids: readonly string[]): AIMessage {
  const calls = message.tool_calls ?? [];
  if (calls.every((call, i) => call.id === ids[i])) return message;
  const renamer = () => {
    const left = new Map<string, string[]>();
    calls.forEach((call, i) => {
      left.set(call.id ?? "", [...(left.get(call.id ?? "") ?? []), ids[i] as string]);
    });
    return <C extends RawCall>(call: C): C => ({ ...call, id: left.get(call.id ?? "")?.shift() ?? call.id });
  };
  const inBlocks = renamer();
  const inKwargs = renamer();
  const raw = rawCalls(message);
  return copyMessage(message, {
    tool_calls: calls.map((call, i) => ({ ...call, id: ids[i] as string })),
    ...(typeof message.content === "string"
      ? {}
      : { content: message.content.map((block) => (isCallBlock(block) ? inBlocks(block) : block)) }),
    ...(raw.length === 0
      ? {}
      : { additional_kwargs: { ...message.additional_kwargs, tool_calls: raw.map(inKwargs) as never } }),
  });
}

function rawCalls(message: AIMessage): readonly RawCall[] {
  const raw = (message.additional_kwargs as { tool_calls?: unknown } | undefined)?.tool_calls;
  return Array.isArray(raw) ? raw : [];
}

function callBlocks(message: AIMessage): readonly RawCall[] {
  return contentBlocks(message.content).filter(isCallBlock);
}

function isCallBlock(block: unknown): block is RawCall & { readonly type: string } {
  const type = (block as { type?: unknown } | null)?.type;
  return (type === "tool_use" || type === "tool_call") && !isSignedBlock(block);
}

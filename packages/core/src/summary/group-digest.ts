import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { digest } from "../json/canonical-json.ts";
import type { MessageGroup } from "../messages/groups.ts";

/**
 * Digest of what groups say: contents, calls, results, step numbers. Message ids are not in it: a restarted run has
 * others. Cost: linear.
 */
export function digestGroups(groups: readonly MessageGroup[]): string {
  return digest(groups.map((group) => ({ step: group.step, messages: group.messages.map(said) })));
}

function said(message: BaseMessage): unknown {
  const type = message.getType();
  return {
    type,
    content: message.content,
    ...(type === "ai"
      ? { calls: (message as AIMessage).tool_calls?.map(({ name, args }) => ({ name, args })) }
      : {}),
    ...(type === "tool" ? { status: (message as ToolMessage).status } : {}),
  };
}

import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { groupMessages } from "../messages/groups.ts";

/** A tool call without a result. */
export interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/** Why a call is answered by Longhaul and not by its tool. */
export type OpenCallReason = "superseded" | "gave-up";

const TEXT: Readonly<Record<OpenCallReason, string>> = {
  superseded:
    "This call did not finish: the run was interrupted and a new message came in. Its outcome is unknown; if it may have " +
    "changed something, verify that before you repeat it.",
  "gave-up":
    "This call was given up after repeated failures. Its outcome is unknown; verify before you repeat it, or go on without it.",
};

/** The calls of the last assistant message: those without a result, and the tools of those with one. */
export function lastCalls(messages: readonly BaseMessage[]): {
  readonly open: readonly OpenCall[];
  readonly answered: readonly string[];
} {
  const calls = groupMessages(messages).findLast((group) => group.kind === "step")?.calls ?? [];
  return {
    open: calls.flatMap(({ id, name, result }) => (result || id === undefined ? [] : [{ id, name }])),
    answered: calls.flatMap(({ name, result }) => (result ? [name] : [])),
  };
}

/** Error results for calls that a run left open, so that its history stays valid for every provider. */
export function answerOpenCalls(
  calls: readonly OpenCall[],
  reason: OpenCallReason,
  detail?: string,
): ToolMessage[] {
  const content = detail === undefined ? TEXT[reason] : `${TEXT[reason]} Last failure: ${detail}`;
  return calls.map(
    ({ id, name }) =>
      new ToolMessage({
        content,
        tool_call_id: id,
        name,
        status: "error",
        additional_kwargs: { longhaul_placeholder: reason },
      }),
  );
}

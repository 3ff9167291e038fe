import { ToolMessage } from "@langchain/core/messages";
import type { Head } from "./head.ts";

/** Why a call is answered by Longhaul and not by its tool. */
export type OpenCallReason = "superseded" | "gave-up";

const TEXT: Readonly<Record<OpenCallReason, string>> = {
  superseded:
    "This call did not finish: the run was interrupted and a new message came in. Its outcome is unknown; if it may have " +
    "changed something, verify that before you repeat it.",
  "gave-up":
    "This call was given up after repeated failures. Its outcome is unknown; verify before you repeat it, or go on without it.",
};

/** Error results for the calls that a run left open, so that its history stays valid for every provider. */
export function answersToOpenCalls(head: Head, reason: OpenCallReason, detail?: string): ToolMessage[] {
  return head.dangling.map(
    (call) =>
      new ToolMessage({
        content: detail === undefined ? TEXT[reason] : `${TEXT[reason]} Last failure: ${detail}`,
        tool_call_id: call.id,
        name: call.name,
        status: "error",
        additional_kwargs: { longhaul_placeholder: reason },
      }),
  );
}

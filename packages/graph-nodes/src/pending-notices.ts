import { dueResumeNote, type Notice } from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";

/**
 * What Longhaul has to say in the next request: the hints that `guardNode` left, and after a resume the note that says so, in
 * the first request only. For a model node of one's own: `buildContext(state, { notices: pendingNotices(state) })`.
 */
export function pendingNotices(state: Pick<LonghaulNodeState, "messages" | "_longhaulNotices">): Notice[] {
  const resume = dueResumeNote(state.messages);
  return [
    ...(resume ? [{ kind: "resume" as const, text: resume.note }] : []),
    ...(state._longhaulNotices?.notices ?? []),
  ];
}

import type { BaseMessage } from "@langchain/core/messages";
import { ARTIFACT_REF_PATTERN, type ArtifactStore, type RecallArgs, recall } from "@longhaul/core";
import { RECORD } from "./availability.ts";

/** `Steps 6–10`, `"steps":"6-10"`, `(look, step 7)`: what Longhaul's record says where something came from. */
const STEPS = /\bsteps?["\s:]+(\d+)(?:\s?[–-]\s?(\d+))?/gi;

/** The recall calls that a request names: references anywhere, steps in Longhaul's record. */
export function recallLeads(requestText: string): RecallArgs[] {
  const refs = new Set(requestText.match(ARTIFACT_REF_PATTERN));
  const record = (requestText.match(RECORD) ?? []).join("\n");
  const steps = new Set(
    [...record.matchAll(STEPS)].map(([, from, to]) => (to === undefined ? `${from}` : `${from}-${to}`)),
  );
  return [...[...refs].map((ref) => ({ ref })), ...[...steps].map((range) => ({ steps: range }))];
}

/** Follows leads in one thread; each answer is what one call of the tool gives, and no more. */
export function leadFollower(
  thread: string,
  artifacts: ArtifactStore,
): (requestText: string, history: readonly BaseMessage[]) => Promise<string[]> {
  // Neither a stored text nor a past step changes, so each is read once.
  const answers = new Map<string, string>();
  return async (requestText, history) => {
    const texts: string[] = [];
    for (const lead of recallLeads(requestText)) {
      const key = JSON.stringify(lead);
      const text = answers.get(key) ?? (await recall(lead, { thread, artifacts, messages: history }));
      answers.set(key, text);
      texts.push(text);
    }
    return texts;
  };
}

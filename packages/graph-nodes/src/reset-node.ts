import {
  currentEmitter,
  grantReset,
  groupMessages,
  isAssistant,
  readProgress,
  withSystemDeps,
} from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";
import type { NodeOptions } from "./node-options.ts";

/**
 * A reset that the graph decides, not the model: the next request holds system prompt, task, the latest checkpoint and nothing of
 * the messages before. For an edge at the end of a phase, say.
 *
 * Does nothing, and says so with an event, without a checkpoint since the last reset: all progress would be lost. Unlike the
 * model's tool it asks for no finished step, the graph's author is trusted to get on. Replay and resume: a repeated reset
 * finds its checkpoint used up and changes nothing.
 */
export function resetNode(options: Pick<NodeOptions, "events" | "deps"> = {}) {
  const deps = withSystemDeps(options.deps);
  return (state: LonghaulNodeState) => {
    const progress = readProgress(state._longhaulProgress);
    const emit = currentEmitter(options.events, deps.clock);
    const assistant = state.messages.findLast(isAssistant);
    if (!assistant?.id || !progress.latest || progress.latest.key === progress.lastResetCheckpoint) {
      emit({ type: "reset.refused", detail: "There is no checkpoint since the last reset." });
      return {};
    }
    const step = groupMessages(state.messages).findLast((group) => group.kind === "step")?.step ?? 0;
    const at = {
      key: `${assistant.id}:reset-node`,
      assistantId: assistant.id,
      step: Math.max(step, progress.latest.step),
    };
    emit({ type: "reset.granted", resets: progress.resets + 1 });
    return { _longhaulProgress: grantReset(progress, at) };
  };
}

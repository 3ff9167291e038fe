import type { AIMessage } from "@langchain/core/messages";
import type { Emit } from "../events/event.ts";
import type { Notice } from "../messages/notices.ts";
import { sealMessage } from "../run/seal.ts";
import { observeReply } from "./idle-reply.ts";
import { type LoopOptions, resolveLoopOptions } from "./loop-options.ts";
import type { LoopState } from "./loop-state.ts";
import { idleReport } from "./loop-text.ts";

/** The end of asking: an answer, or a seal in place of the last idle one. */
export interface Answered<R> {
  readonly state: LoopState;
  /** What the last call returned. */
  readonly result: R;
  /** Idle answers before it; none of them is to be stored. */
  readonly dropped: readonly AIMessage[];
  /** Takes the place of the idle answer in `result`, whose id it has: asked often enough, the run ends NEEDS_HUMAN. */
  readonly end?: AIMessage | undefined;
}

/**
 * Calls the model, and calls it again with a notice after an answer with neither a call nor anything to say, at most `nudges`
 * times. What `answerOf` returns nothing for is an answer whatever it says (structured output, what another guard put there).
 */
export async function askUntilAnswered<R>(
  start: LoopState,
  options: LoopOptions,
  model: {
    readonly call: (nudge: Notice | undefined) => Promise<R>;
    readonly answerOf: (result: R) => AIMessage | undefined;
  },
  by: { readonly emit: Emit; readonly newId: () => string },
): Promise<Answered<R>> {
  const { nudges, nudgeText } = resolveLoopOptions(options);
  const dropped: AIMessage[] = [];
  let state = start;
  for (;;) {
    const result = await model.call(dropped.length > 0 ? { kind: "loop", text: nudgeText } : undefined);
    const answer = model.answerOf(result);
    if (!answer) return { state, result, dropped };
    const reply = observeReply(state, answer, options);
    state = reply.state;
    if (reply.verdict === "accept") return { state, result, dropped };
    // The reducer would give it one anyway; without it, it could not be taken out of a history again.
    answer.id ??= by.newId();
    if (reply.verdict === "end") {
      const reason = reply.reason ?? "empty";
      const text = idleReport(reason, nudges + 1);
      by.emit({ type: "loop.stop", kind: "idle", reason, evidence: text });
      return { state, result, dropped, end: sealMessage({ status: "NEEDS_HUMAN", reason }, text, answer.id) };
    }
    dropped.push(answer);
    by.emit({ type: "loop.nudge", times: dropped.length });
  }
}

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { Emit } from "../events/event.ts";
import type { Notice } from "../messages/notices.ts";
import { sealMessage } from "../run/seal.ts";
import type { LoopOptions } from "./loop-options.ts";
import type { LoopState } from "./loop-state.ts";
import { loopHint, loopReport } from "./loop-text.ts";
import { observeMessages } from "./observe-messages.ts";

/** What the detector wants done with the next model call. */
export interface LoopVerdict {
  readonly state: LoopState;
  /** For that request. */
  readonly hint?: Notice | undefined;
  /** Takes the place of that call: the run ends, sealed NEEDS_HUMAN. */
  readonly end?: AIMessage | undefined;
}

/** Observes what came since the last model call, tells operators, and says what to do with the next one. */
export function guardLoops(
  state: LoopState,
  messages: readonly BaseMessage[],
  options: LoopOptions,
  by: { readonly emit: Emit; readonly newId: () => string },
): LoopVerdict {
  const observation = observeMessages(state, messages, options);
  const { signal, kind = "cycle", reason = "loop", evidence = "" } = observation;
  if (signal === "none") return { state: observation.state };
  by.emit({ type: `loop.${signal}`, kind, reason, evidence });
  if (signal !== "stop") return { state: observation.state, hint: loopHint(observation) };
  const seal = { status: "NEEDS_HUMAN", reason: reason === "loop" ? "loop" : "no_progress" } as const;
  return { state: observation.state, end: sealMessage(seal, loopReport(observation), by.newId()) };
}

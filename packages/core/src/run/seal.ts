import { AIMessage } from "@langchain/core/messages";
import type { RunStatus, StopReason } from "./run-state.ts";

/** How a guard ends a run: the model is not called, this message is its answer and the history stays valid. */
export interface Seal {
  readonly status: Extract<RunStatus, "PAUSED" | "FAILED" | "NEEDS_HUMAN">;
  readonly reason: StopReason;
}

const FIELD = "longhaul_seal";

/** The closing assistant message of a guard. `runStatus`, outermost, reads the seal from it and writes the run channel. */
export function sealMessage(seal: Seal, text: string): AIMessage {
  return new AIMessage({ content: text, response_metadata: { [FIELD]: { ...seal } } });
}

export function sealed(message: AIMessage, seal: Seal): AIMessage {
  return new AIMessage({
    content: message.content,
    ...(message.id === undefined ? {} : { id: message.id }),
    additional_kwargs: message.additional_kwargs,
    ...(message.usage_metadata ? { usage_metadata: message.usage_metadata } : {}),
    response_metadata: { ...message.response_metadata, [FIELD]: { ...seal } },
  });
}

export function readSeal(message: AIMessage): Seal | undefined {
  const value = (message.response_metadata as Record<string, unknown> | undefined)?.[FIELD];
  return typeof value === "object" && value !== null ? (value as Seal) : undefined;
}

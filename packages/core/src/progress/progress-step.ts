import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { canonicalJson } from "../json/canonical-json.ts";
import { elementKey, isAssistant } from "../messages/groups.ts";
import type { LonghaulValues } from "../state/channels.ts";
import { type KnownSources, knownSources } from "./known-sources.ts";
import type { ResolvedProgressOptions } from "./progress-options.ts";
import { type ProgressState, readProgress } from "./progress-state.ts";

/** A call of the checkpoint or reset tool inside its assistant message. */
export interface ProgressCall {
  readonly key: string;
  readonly name: string;
  readonly args: unknown;
  /** Position among all calls of the message, from 0. */
  readonly order: number;
}

/** The agent step that a call belongs to: all that its verdict depends on. */
export interface ProgressStep {
  readonly state: ProgressState;
  readonly assistantId: string;
  /** Agent step in the thread, from 1. */
  readonly step: number;
  /** The checkpoint and reset calls of the assistant message, in its order. */
  readonly calls: readonly ProgressCall[];
  readonly known: KnownSources;
  /** A person spoke since the last checkpoint was judged: a new run, whose idle checkpoints count from zero. */
  readonly freshTurn: boolean;
}

/**
 * Gathers the step of a running tool call from the state that the tool was given. Siblings of one message each see the
 * state from before the message, so what a sibling does is computed from its arguments: pure, and the same in any order.
 */
export function progressStep(
  input: Readonly<Record<string, unknown>>,
  call: { readonly id?: string | undefined; readonly name: string; readonly args: unknown },
  options: ResolvedProgressOptions,
): { readonly step: ProgressStep; readonly call: ProgressCall } {
  const messages = Array.isArray(input.messages) ? (input.messages as BaseMessage[]) : [];
  const values = input as LonghaulValues;
  const state = readProgress(values._longhaulProgress);
  const assistant = messages.findLast(
    (message): message is AIMessage =>
      isAssistant(message) &&
      (message.tool_calls ?? []).some((it) => it.id === call.id && it.name === call.name),
  );
  const names = [options.checkpointName, options.resetName];
  const calls = (assistant?.tool_calls ?? [call]).flatMap((it, order): ProgressCall[] =>
    names.includes(it.name)
      ? [{ key: elementKey(assistant ?? NO_MESSAGE, it.id), name: it.name, args: it.args, order }]
      : [],
  );
  const key = elementKey(assistant ?? NO_MESSAGE, call.id);
  const own =
    // providers repeat call ids, even inside one message
    calls.find((it) => it.key === key && sameArgs(it.args, call.args)) ??
      calls.find((it) => it.key === key) ?? { key, name: call.name, args: call.args, order: 0 };
  const assistantId = assistant?.id ?? "?";
  return {
    call: own,
    step: {
      state,
      assistantId,
      step: stepNumber(messages, values, state, assistantId),
      calls: calls.length > 0 ? calls : [own],
      known: knownSources(messages, values, names),
      freshTurn: humanAfter(messages, state.judged?.assistantId),
    },
  };
}

const NO_MESSAGE = {} as BaseMessage;

/**
 * Steps only grow, even where older messages were archived and no run channel counts: the reducer relies on it.
 */
function stepNumber(
  messages: readonly BaseMessage[],
  values: LonghaulValues,
  state: ProgressState,
  assistantId: string,
): number {
  const counted = messages.filter((message) => message.getType() === "ai").length;
  const { judged, reset } = state;
  return Math.max(
    counted,
    values._longhaulRun?.step ?? 0,
    judged ? judged.step + (judged.assistantId === assistantId ? 0 : 1) : 0,
    reset ? reset.step + (reset.assistantId === assistantId ? 0 : 1) : 0,
  );
}

function humanAfter(messages: readonly BaseMessage[], assistantId: string | undefined): boolean {
  if (assistantId === undefined) return false;
  const at = messages.findLastIndex((message) => message.id === assistantId);
  return messages.slice(at + 1).some((message) => message.getType() === "human");
}

function sameArgs(a: unknown, b: unknown): boolean {
  try {
    return canonicalJson(a) === canonicalJson(b);
  } catch {
    return false;
  }
}

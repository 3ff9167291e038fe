import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import type { Notice } from "../messages/notices.ts";
import { readProgress } from "../progress/progress-state.ts";
import type { LonghaulValues } from "../state/channels.ts";
import { type ContextLimits, contextLimits, type ResolvedContextOptions } from "./context-options.ts";
import { type HistoryLayers, historyLayers } from "./layers.ts";
import { type MemoryState, readMemoryState } from "./memory-state.ts";
import { pendingReset, resetMemory } from "./reset-memory.ts";
import { updateTask } from "./task.ts";
import { readTaskState, type TaskState } from "./task-state.ts";

/** State of a graph as far as the context is made of it: the messages and Longhaul's channels. */
export interface ContextState extends LonghaulValues {
  readonly messages: readonly BaseMessage[];
}

/** What belongs to one request and stands in no channel. */
export interface RequestParts {
  /** System prompt. @default the leading system messages of the history */
  readonly system?: SystemMessage | string | undefined;
  /** Put the system prompt in front of the messages; false when something else sends it. @default true */
  readonly prependSystem?: boolean | undefined;
  /** Tools and other schemas that are sent along; measured only. @default none */
  readonly tools?: readonly unknown[] | undefined;
  /** @default none */
  readonly notices?: readonly Notice[] | undefined;
  /** `maxInputTokens` of the model's profile. @default unknown */
  readonly profileWindow?: number | undefined;
}

/** Everything that the view is computed from, read and validated. */
export interface ContextParts {
  readonly task: TaskState | undefined;
  /** The channel as it was read. */
  readonly stored: MemoryState;
  /** With a granted reset in effect. */
  readonly memory: MemoryState;
  readonly layers: HistoryLayers;
  readonly limits: ContextLimits;
  /** Budget level economy and beyond: memory and working layer get half. */
  readonly tight: boolean;
  readonly system: SystemMessage | undefined;
  readonly request: RequestParts;
  readonly options: ResolvedContextOptions;
}

const TIGHT_LEVELS: ReadonlySet<string | undefined> = new Set(["economy", "essential", "wrap-up", "stop"]);

/**
 * Reads the state, with a granted reset that is not applied yet already in effect.
 * @throws StateFormatError for a channel that this version cannot read
 */
export function readContext(
  state: ContextState,
  options: ResolvedContextOptions,
  request: RequestParts,
): ContextParts {
  const stored = readMemoryState(state._longhaulMemory);
  const progress = readProgress(state._longhaulProgress);
  const task = updateTask(readTaskState(state._longhaulTask), state.messages, options);
  const reset = pendingReset(stored, progress);
  const memory = reset ? resetMemory(stored, reset, state, options) : stored;
  const tight = TIGHT_LEVELS.has(state._longhaulBudget?.level);
  return {
    task,
    stored,
    memory,
    layers: historyLayers(state.messages, memory),
    limits: contextLimits(options, request.profileWindow, tight),
    tight,
    system: systemOf(request.system),
    request,
    options,
  };
}

function systemOf(system: SystemMessage | string | undefined): SystemMessage | undefined {
  const message = typeof system === "string" ? new SystemMessage(system) : system;
  return message?.text.trim() ? message : undefined;
}

/** The same with another memory; with `state` the history is cut anew, since the cut-off may have moved. */
export function withMemory(parts: ContextParts, memory: MemoryState, state?: ContextState): ContextParts {
  if (memory === parts.memory) return parts;
  return { ...parts, memory, ...(state ? { layers: historyLayers(state.messages, memory) } : {}) };
}

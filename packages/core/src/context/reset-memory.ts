import type { BaseMessage } from "@langchain/core/messages";
import { canonicalJson } from "../json/canonical-json.ts";
import { groupMessages } from "../messages/groups.ts";
import type { ProgressState } from "../progress/progress-state.ts";
import type { LonghaulValues } from "../state/channels.ts";
import { effectsDone } from "../summary/effects-done.ts";
import type { ResolvedContextOptions } from "./context-options.ts";
import { readKeyData } from "./key-data.ts";
import type { MemorySnapshot, MemoryState } from "./memory-state.ts";

type Reset = NonNullable<ProgressState["reset"]>;

const MOST_APPLIED = 10;

/** A reset that the progress tools granted and the memory channel does not know yet. */
export function pendingReset(memory: MemoryState, progress: ProgressState | undefined): Reset | undefined {
  const reset = progress?.reset;
  return reset && !memory.appliedResets.includes(reset.key) ? reset : undefined;
}

/**
 * Memory of the epoch that a reset begins: earlier summaries leave, the checkpoint stands in their place, side effects and what the
 * user or an effect named stay. Pure and idempotent: the reset's key is remembered.
 */
export function resetMemory(
  memory: MemoryState,
  reset: Reset,
  state: LonghaulValues & { readonly messages: readonly BaseMessage[] },
  options: ResolvedContextOptions,
): MemoryState {
  const from = memory.pastEpochs.at(-1)?.toStep ?? 0;
  const effects = effectsSince(memory, reset, state.messages, options.summary.isEffect);
  return {
    ...memory,
    epoch: memory.epoch + 1,
    appliedResets: [...memory.appliedResets, reset.key].slice(-MOST_APPLIED),
    cutoff: reset.assistantId,
    carriedFrom: reset.assistantId,
    summaries: [],
    pastEpochs: [
      ...memory.pastEpochs,
      { epoch: memory.epoch, fromStep: Math.min(from + 1, reset.step), toStep: reset.step },
    ],
    identifiers: memory.identifiers.filter(({ from }) => from === "human" || from === "effect"),
    effectsDone: [...memory.effectsDone, ...effects],
    shown: snapshot(state, memory, options, reset.step),
    lastFold: { step: reset.step + 1, workingTokens: 0 },
    pauseUntilStep: undefined,
    fruitless: 0,
    fruitlessMark: undefined,
  };
}

/** What the memory block shows of the other channels from now on. */
export function snapshot(
  state: LonghaulValues,
  memory: Pick<MemoryState, "calibration">,
  options: Pick<ResolvedContextOptions, "memoryLimit">,
  toStep: number,
): MemorySnapshot {
  const latest = state._longhaulProgress?.latest;
  return {
    ...(latest ? { progress: pickProgress(latest) } : {}),
    data: Object.entries(readKeyData(state._longhaulData).entries).map(([key, entry]) =>
      dataLine(key, entry),
    ),
    constraints: state._longhaulTask?.constraints.length ?? 0,
    limit: Math.floor(options.memoryLimit / memory.calibration),
    toStep,
  };
}

function pickProgress({ goal, facts, done, todo, open }: NonNullable<MemorySnapshot["progress"]>) {
  return { goal, facts, done, todo, open };
}

/** Longer values are for code; a model is told where they are. */
const LONGEST_VALUE = 500;

function dataLine(key: string, entry: { readonly value: unknown; readonly source?: string }): string {
  const value = typeof entry.value === "string" ? entry.value : canonicalJson(entry.value);
  const shown =
    value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}… (${value.length} characters)` : value;
  return `- ${key} = ${shown}${entry.source === undefined ? "" : ` [source: ${entry.source}]`}`.toWellFormed();
}

/** Effects of the steps that the reset takes out of the working layer; folded ones are listed already. */
function effectsSince(
  memory: MemoryState,
  reset: Reset,
  messages: readonly BaseMessage[],
  isEffect: (toolName: string) => boolean,
): MemoryState["effectsDone"] {
  const groups = groupMessages(messages);
  const position = (id: string | undefined) => groups.findLastIndex((group) => group.messages[0]?.id === id);
  const start = memory.cutoff === undefined ? 0 : position(memory.cutoff) + 1;
  return effectsDone(groups.slice(start, position(reset.assistantId) + 1), isEffect);
}

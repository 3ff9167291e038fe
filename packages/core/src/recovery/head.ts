import { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { readBudgetMirror } from "../budget/budget-state.ts";
import { readMemoryState } from "../context/memory-state.ts";
import { readTaskState } from "../context/task-state.ts";
import { LonghaulError, StateFormatError } from "../errors.ts";
import { readLoops } from "../loops/loop-state.ts";
import { readProgress } from "../progress/progress-state.ts";
import { readRunState } from "../run/run-state.ts";
import { lastCalls, type OpenCall } from "./open-calls.ts";
import type { GraphDriver, PendingInterrupt, SaverView, StateView } from "./supervisable-graph.ts";

/** The newest checkpoint of a thread, as far as recovery decides by it. */
export interface Head {
  /** null: the thread has no checkpoint. */
  readonly checkpointId: string | null;
  /** Superstep of the checkpoint; -2 when there is none. */
  readonly superstep: number;
  /** Values with the results of finished siblings of an unfinished superstep; what an entrypoint returned. */
  readonly state: unknown;
  /** The same by channel; of an entrypoint none. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly messages: readonly BaseMessage[];
  /** Nodes of the tasks that are not finished, in order, each once. */
  readonly pending: readonly string[];
  /** Nothing is left to run. */
  readonly finished: boolean;
  /** The input is saved but not yet applied to the channels. */
  readonly atStart: boolean;
  readonly interrupts: readonly PendingInterrupt[];
  /**
   * Every pending task waits for an answer: running it again would only ask again. A task with an error beside its question
   * does not count, the error may be older or younger than the question.
   */
  readonly onlyWaits: boolean;
  /** Answers to interrupts that are stored with this checkpoint. */
  readonly answers: number;
  /** Tool calls of the last assistant message without a result. */
  readonly dangling: readonly OpenCall[];
  /** Tool names of its calls that have one. */
  readonly answered: readonly string[];
  /** Agent step: assistant messages so far, or what the run channel says. */
  readonly step: number;
}

/**
 * Loads and checks the newest checkpoint.
 *
 * @throws what the checkpointer throws; StateFormatError when a channel of Longhaul is damaged or newer than this version
 */
export async function loadHead(driver: GraphDriver, saver: SaverView, thread: RunnableConfig): Promise<Head> {
  const state = await driver.getState(thread);
  const checkpointId = (state.config?.configurable?.checkpoint_id as string | undefined) ?? null;
  if (checkpointId === null) return viewOf(state, null, 0);
  checkChannels(channelsOf(state));
  // Only a pending answer needs the tuple itself.
  const waits = state.tasks.some((task) => task.interrupts?.length);
  const tuple = waits ? await saver.getTuple(thread) : undefined;
  return viewOf(state, checkpointId, countAnswers(tuple?.pendingWrites ?? []));
}

function viewOf(state: StateView, checkpointId: string | null, answers: number): Head {
  const values = channelsOf(state);
  const messages = (Array.isArray(values.messages) ? values.messages : []).filter(
    (item): item is BaseMessage => BaseMessage.isInstance(item),
  );
  const open = state.tasks.filter((task) => task.result === undefined);
  const asking = open.filter((task) => task.interrupts?.length);
  const steps = messages.filter((message) => message.getType() === "ai").length;
  const { open: dangling, answered } = lastCalls(messages);
  const known = (values._longhaulRun as { step?: unknown } | undefined)?.step;
  return {
    checkpointId,
    superstep: checkpointId === null ? -2 : (state.metadata?.step ?? -1),
    state: state.values,
    values,
    messages,
    pending: [...new Set(open.map((task) => task.name))],
    finished: state.tasks.length === 0,
    atStart: state.tasks.some((task) => task.name === "__start__"),
    interrupts: asking.flatMap((task) => task.interrupts ?? []),
    onlyWaits: open.length > 0 && open.every((task) => task.interrupts?.length && task.error === undefined),
    answers,
    dangling,
    answered,
    step: Math.max(steps, typeof known === "number" ? known : 0),
  };
}

/** An entrypoint's state is what it returned: nothing yet, a text, an array. */
function channelsOf({ values }: Pick<StateView, "values">): Readonly<Record<string, unknown>> {
  return typeof values === "object" && values !== null && !Array.isArray(values)
    ? (values as Readonly<Record<string, unknown>>)
    : {};
}

function countAnswers(writes: readonly (readonly [string, string, unknown])[]): number {
  return writes
    .filter(([, channel]) => channel === "__resume__")
    .reduce((sum, [, , value]) => sum + (Array.isArray(value) ? value.length : 1), 0);
}

/** Each validates its channel and throws StateFormatError. */
const READERS: Partial<Record<string, (value: unknown) => unknown>> = {
  _longhaulTask: readTaskState,
  _longhaulMemory: readMemoryState,
  _longhaulProgress: readProgress,
  _longhaulLoops: readLoops,
  _longhaulBudget: readBudgetMirror,
  _longhaulRun: readRunState,
};

/** State that is damaged, or of a version of Longhaul that this code does not know, must not be continued. */
function checkChannels(values: Readonly<Record<string, unknown>>): void {
  for (const [channel, value] of Object.entries(values)) {
    if (!channel.startsWith("_longhaul") || value === undefined || value === null) continue;
    READERS[channel]?.(value);
    if ((value as { v?: unknown }).v !== 1) {
      throw new StateFormatError({ channel, found: value, expected: "an object of version 1 (`v: 1`)" });
    }
  }
}

/** Codes of Longhaul's errors that speak of one stored thing, not of the storage as a whole. */
const DAMAGE_CODES = ["DAMAGED_RECORD", "STATE_FORMAT"];

/** Whether an error of loading says that what is stored is damaged or foreign, not that the storage is out of reach. */
export function isDamage(error: unknown): boolean {
  for (let link = error, depth = 0; link instanceof Error && depth < 10; link = link.cause, depth++) {
    if (LonghaulError.isInstance(link)) return DAMAGE_CODES.includes(link.code);
    // What the official savers throw for a cut or garbled blob.
    // A message that LangChain cannot read stands in the state, whoever put it there.
    if ((link as { lc_error_code?: unknown }).lc_error_code === "MESSAGE_COERCION_FAILURE") return true;
    if (link instanceof SyntaxError || (link as { code?: unknown }).code === "SQLITE_CORRUPT") return true;
  }
  return false;
}

/** The newest checkpoint that can be read, the head left out. Cost: one read per checkpoint until one is sound. */
export async function findSoundAncestor(
  driver: GraphDriver,
  thread: RunnableConfig,
): Promise<string | undefined> {
  let before: string | undefined;
  for (let tries = 0; tries < 100; tries++) {
    try {
      const options = before === undefined ? {} : { before: { configurable: { checkpoint_id: before } } };
      for await (const state of driver.getStateHistory(thread, options)) {
        before = state.config.configurable?.checkpoint_id as string | undefined;
        if (isSound(state)) return before;
      }
      return undefined;
    } catch (error) {
      // A typed error names its checkpoint, so that the search goes on behind it. Others end it.
      const damaged = (error as { place?: { checkpointId?: unknown } }).place?.checkpointId;
      if (typeof damaged !== "string" || damaged === before) return undefined;
      before = damaged;
    }
  }
  return undefined;
}

function isSound(state: StateView): boolean {
  try {
    checkChannels(channelsOf(state));
    return true;
  } catch {
    return false;
  }
}

import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { offloadText } from "../artifacts/offload.ts";
import type { Deps } from "../clock.ts";
import type { Emit } from "../events/event.ts";
import type { MessageGroup } from "../messages/groups.ts";
import type { ArtifactStore } from "../storage/artifact-store.ts";
import { refreshIdentifiers } from "../summary/select-identifiers.ts";
import { readSource } from "../summary/source-text.ts";
import { summarizeGroups } from "../summary/summarize-groups.ts";
import type { ContextParts, ContextState } from "./context-state.ts";
import type { MemoryState } from "./memory-state.ts";
import { snapshot } from "./reset-memory.ts";
import type { TaskState } from "./task-state.ts";
import { carriedGroup } from "./view-front.ts";

export interface FoldDeps {
  readonly artifacts: ArtifactStore;
  /** Without it summaries are made by rule. */
  readonly summarizer?: BaseChatModel | undefined;
  /** The only callbacks that see the summariser's calls. */
  readonly callbacks?: Callbacks | undefined;
  readonly emit: Emit;
  readonly deps: Deps;
  readonly signal?: AbortSignal | undefined;
}

export type FoldResult =
  | {
      readonly ok: true;
      readonly memory: MemoryState;
      readonly task: TaskState | undefined;
      readonly groups: readonly MessageGroup[];
      readonly reused: boolean;
    }
  | { readonly ok: false; readonly reason: string; readonly message: string };

/** Limits of what the channel carries; older entries are found by `recall`. */
const MOST_IDENTIFIERS = 500;
const MOST_ARTIFACTS = 500;
/** Human turns that keep their text in the channel. */
const MOST_DIRECTIONS = 10;

/**
 * Replaces the `count` oldest working groups by summaries, in memory: nothing is committed, and a failure changes nothing. The summaries are
 * in the artifact store when this resolves, under the digest of what they replace, so a repeated fold finds them.
 */
export async function foldGroups(
  parts: ContextParts,
  state: ContextState,
  count: number,
  thread: string,
  deps: FoldDeps,
): Promise<FoldResult> {
  const { memory, layers, options } = parts;
  const folded = layers.working.slice(0, count);
  const carried = carriedGroup(memory.carriedFrom, layers.past);
  const groups = carried ? [carried, ...folded] : folded;
  const outcome = await summarizeGroups(
    {
      thread,
      groups,
      goal: parts.task?.goal.text ?? "",
      previous: memory.summaries,
      knownIdentifiers: memory.identifiers.map((identifier) => identifier.text),
      artifacts: memory.artifacts,
    },
    options.summary,
    deps,
  );
  if (!outcome.ok) return outcome;
  const inUse = refreshIdentifiers(
    memory.identifiers,
    readSource(groups, options.summary.isEffect).identifiers,
  );
  const toStep = folded.findLast((group) => group.step !== undefined)?.step ?? 0;
  const task = parts.task && (await storeDirections(parts.task, parts, folded, thread, deps));
  return {
    ok: true,
    groups,
    reused: outcome.reused,
    task,
    memory: {
      ...memory,
      cutoff: cutoffOf(folded),
      carriedFrom: undefined,
      summaries: outcome.summaries,
      identifiers: [...inUse, ...outcome.identifiers].slice(-MOST_IDENTIFIERS),
      effectsDone: [...memory.effectsDone, ...outcome.effectsDone],
      artifacts: newest({ ...memory.artifacts, ...outcome.artifacts }, toStep),
      shown: snapshot({ ...state, _longhaulTask: task }, memory, options, toStep),
      pauseUntilStep: undefined,
    },
  };
}

function cutoffOf(folded: readonly MessageGroup[]): string | undefined {
  return folded.findLast((group) => group.kind === "step")?.messages[0]?.id;
}

/** Texts that the working layer still shows are never dropped. */
function newest(artifacts: MemoryState["artifacts"], toStep: number): MemoryState["artifacts"] {
  const entries = Object.entries(artifacts);
  if (entries.length <= MOST_ARTIFACTS) return artifacts;
  const from = entries.length - MOST_ARTIFACTS;
  return Object.fromEntries(entries.filter(([, { step }], i) => i >= from || step > toStep));
}

/**
 * Human turns that leave the working layer are stored, so that the task block can refer to what it does not show; the oldest then
 * keep the reference only. A turn that the store loses keeps its text.
 */
async function storeDirections(
  task: TaskState,
  { layers }: ContextParts,
  folded: readonly MessageGroup[],
  thread: string,
  { artifacts, emit }: FoldDeps,
): Promise<TaskState> {
  const leaving = new Set(
    folded.flatMap((group) =>
      group.kind === "human" ? [layers.turnIds.get(group.messages[0] as BaseMessage)] : [],
    ),
  );
  const directions: TaskState["directions"][number][] = [];
  for (const [i, turn] of task.directions.entries()) {
    let { text, ref } = turn;
    if (text !== undefined && ref === undefined && leaving.has(turn.messageId)) {
      const label = `turn ${i + 2} of the user`;
      const stored = await offloadText(thread, text, { kind: "human", label }, artifacts);
      if ("lost" in stored)
        emit({ type: "context.store-failed", label, chars: text.length, reason: stored.reason });
      else ref = stored.ref;
    }
    const isOld = i < task.directions.length - MOST_DIRECTIONS;
    if (isOld && ref !== undefined) text = undefined;
    directions.push({
      messageId: turn.messageId,
      ...(text === undefined ? {} : { text }),
      ...(ref === undefined ? {} : { ref }),
    });
  }
  return { ...task, directions };
}

import type { BaseMessage } from "@langchain/core/messages";
import type { MessageGroup } from "../messages/groups.ts";
import { messageText } from "../messages/message-text.ts";
import { type Notice, renderNotices, withNotices } from "../messages/notices.ts";
import { validGroups } from "../messages/valid-request.ts";
import { type ContextLimits, type ContextOptions, resolveContextOptions } from "./context-options.ts";
import { type ContextParts, type ContextState, type RequestParts, readContext } from "./context-state.ts";
import type { MemoryBlock } from "./memory-block.ts";
import { effectiveSoftLimit } from "./plan-fold.ts";
import { estimateTokens, measureMessage, measureMessages, measureTools } from "./token-measure.ts";
import { type ViewFront, viewFront } from "./view-front.ts";
import {
  type LeftResult,
  reduceResults,
  referencesOf,
  type WorkingView,
  workingView,
} from "./working-view.ts";

/** Calibrated tokens of a request, by layer. */
export interface ContextTokens {
  /** System prompt and tool schemas. */
  readonly system: number;
  readonly task: number;
  readonly memory: number;
  readonly working: number;
  readonly notices: number;
  readonly total: number;
}

/** One request, as the model is to see it. */
export interface ContextView {
  readonly messages: BaseMessage[];
  readonly tokens: ContextTokens;
  /** `tokens.total` before calibration: what a provider's count is compared with. */
  readonly estimated: number;
  readonly limits: ContextLimits;
  /** What the history holds and the request does not, and where it is. */
  readonly left: {
    /** Agent steps that are shown as summaries or, before a reset, not at all; `recall` reads them. */
    readonly steps?: { readonly from: number; readonly to: number } | undefined;
    readonly results: readonly LeftResult[];
    readonly memory: MemoryBlock["left"];
  };
}

export interface BuildContextOptions extends ContextOptions, RequestParts {}

/** Said once, in the first request after a reset. */
const AFTER_RESET: Notice = {
  kind: "progress",
  text: "The context was reset as you asked. Go on from the checkpoint; name the next step first.",
};

/**
 * The request for a state: system prompt, goal with constraints and later directions, memory, working steps, notices, in this
 * order. Pure and synchronous: the same state and options give the same bytes, in any process. It decides and stores nothing;
 * folding and storing large results is `prepareContext`'s. Cost: linear in the messages, without measuring one twice.
 *
 * @throws StateFormatError for a channel that this version cannot read; InvalidOptionsError
 */
export function buildContext(state: ContextState, options: BuildContextOptions = {}): ContextView {
  return composeContext(readContext(state, resolveContextOptions(options), options));
}

/** The same from parts that are read already. */
export function composeContext(parts: ContextParts): ContextView {
  const { memory, layers, limits, options, request } = parts;
  const references = referencesOf(memory);
  const front = viewFront(parts, references);
  const notices = [...(isFreshEpoch(parts) ? [AFTER_RESET] : []), ...(request.notices ?? [])];
  const fixed = front.tokens.system + front.tokens.task + front.tokens.memory + noticeTokens(notices);
  let working = workingView(layers.working, references, options.resultLimit);
  const hardLimit = limits.hardLimit / memory.calibration;
  if (fixed + working.tokens > hardLimit)
    working = reduceResults(working, fixed + working.tokens - hardLimit, references);

  const messages = withNotices(assemble(parts, front, working), notices);
  const sentElsewhere = request.prependSystem === false && parts.system ? measureMessage(parts.system) : 0;
  const estimated = measureMessages(messages) + sentElsewhere + measureTools(request.tools);
  const calibrated = (tokens: number) => Math.ceil(tokens * memory.calibration);
  const tokens = {
    system: calibrated(front.tokens.system),
    task: calibrated(front.tokens.task),
    memory: calibrated(front.tokens.memory),
    notices: calibrated(noticeTokens(notices)),
    total: calibrated(estimated),
  };
  const first = layers.past.find((group) => group.step !== undefined)?.step;
  const last = layers.past.findLast((group) => group.step !== undefined)?.step;
  return {
    messages,
    tokens: {
      ...tokens,
      working: Math.max(0, tokens.total - tokens.system - tokens.task - tokens.memory - tokens.notices),
    },
    estimated,
    limits,
    left: {
      ...(first === undefined || last === undefined ? {} : { steps: { from: first, to: last } }),
      results: working.left,
      memory: front.memoryLeft,
    },
  };
}

/** How near a fold is, by the measure that decides it. Uncalibrated working groups included for the plan. */
export interface ContextMeasure {
  readonly working: WorkingView;
  /** Calibrated tokens of system prompt, tools, task and memory. */
  readonly floor: number;
  /** Calibrated. */
  readonly workingTokens: number;
  /** Limit of the working layer, lowered where the floor leaves less below the hard limit. */
  readonly softLimit: number;
}

export function measureContext(parts: ContextParts): ContextMeasure {
  const references = referencesOf(parts.memory);
  const { tokens } = viewFront(parts, references);
  const working = workingView(parts.layers.working, references, parts.options.resultLimit);
  const { calibration } = parts.memory;
  const floor = Math.ceil((tokens.system + tokens.task + tokens.memory) * calibration);
  return {
    working,
    floor,
    workingTokens: Math.ceil(working.tokens * calibration),
    softLimit: effectiveSoftLimit(parts.limits, floor),
  };
}

function assemble(parts: ContextParts, front: ViewFront, working: WorkingView): BaseMessage[] {
  const { layers, system, request, task } = parts;
  const groups = working.groups.map(({ group }) => group);
  const own = front.block ? [humanGroup(front.block)] : [];
  const first = groups[0];
  // The goal comes first, be it pinned or still in its place.
  const isGoalFirst =
    first?.kind === "human" && layers.turnIds.get(first.messages[0] as BaseMessage) === task?.goal.messageId;
  const body = front.goal
    ? [humanGroup(front.goal), ...own, ...groups]
    : first && isGoalFirst
      ? [first, ...own, ...groups.slice(1)]
      : [...own, ...groups];
  if (!system) return validGroups(layers.head, body);
  const asNotes: MessageGroup[] = layers.head.map((message) => ({ ...humanGroup(message), kind: "system" }));
  const text = messageText(system);
  const sent = validGroups([], [...asNotes, ...body], text);
  return request.prependSystem === false ? sent : [system, ...sent];
}

function humanGroup(message: BaseMessage): MessageGroup {
  return { kind: "human", messages: [message], calls: [], dangling: [] };
}

function isFreshEpoch({ memory, layers }: ContextParts): boolean {
  return memory.carriedFrom !== undefined && !layers.working.some((group) => group.kind === "step");
}

function noticeTokens(notices: readonly Notice[]): number {
  return notices.length === 0 ? 0 : estimateTokens(renderNotices(notices));
}

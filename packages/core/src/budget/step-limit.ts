/**
 * LangGraph counts supersteps, not agent steps, and throws when a run is not over within `recursionLimit` of them: all that was
 * found is lost. This finds the model call that has to be the last one. Everything is on the safe side: the beginning of
 * an invocation is not visible to a node, so the earliest that fits is assumed.
 */
export interface StepRoom {
  readonly recursionLimit: number;
  /** First superstep that the limit counts, at the earliest. */
  readonly start: number;
  /** Superstep of this model call (`metadata.langgraph_step`, counted through the whole thread). */
  readonly superstep: number;
  /** Supersteps from one model call to the next: model, tools, and whatever nodes stand between. undefined until seen. */
  readonly stride?: number | undefined;
  /** First model call of the invocation. */
  readonly first: boolean;
}

/** Assumed number of nodes before the first model call where the state tells nothing about earlier steps. */
const UNSEEN_NODES = 8;

/** What the state remembers of the last model call of this agent. */
export interface LastCall {
  readonly superstep?: number | undefined;
  readonly stride?: number | undefined;
}

/** Room of an invocation at its first model call. */
export function roomAtFirstCall(superstep: number, recursionLimit: number, last: LastCall = {}): StepRoom {
  const known = last.superstep !== undefined && last.superstep < superstep;
  // An invocation begins behind its predecessor's last superstep, and has one superstep of its own before its nodes.
  const start = known
    ? (last.superstep as number) + 2
    : superstep <= UNSEEN_NODES
      ? 0
      : superstep - UNSEEN_NODES;
  return { recursionLimit, start, superstep, stride: last.stride, first: true };
}

/** Room at a later model call of the same invocation; the widest distance seen counts. */
export function roomAtNextCall(room: StepRoom, superstep: number): StepRoom {
  const distance = superstep - room.superstep;
  const stride = distance > 0 ? Math.max(room.stride ?? 2, distance) : room.stride;
  // The same superstep again is a retry of the same call.
  return { ...room, superstep, stride, first: room.first && distance === 0 };
}

/**
 * Whether this model call has to be the closing one: the next would come too late to end without an error. Nodes beyond model
 * and tools may stand behind the model, so as many supersteps are left free behind the closing call.
 *
 * @param closing supersteps that follow a final answer besides (after-agent hooks)
 */
export function isLastCall(room: StepRoom, closing = 0): boolean {
  return stepsNeeded(room, closing) > room.recursionLimit;
}

/** Least `recursionLimit` with which one more model call may follow this one. */
export function stepsNeeded(room: StepRoom, closing = 0): number {
  const stride = room.stride ?? guessedStride(room);
  return room.superstep + stride + (stride - 2) + closing - room.start + 1;
}

/** Number of model calls that still fit, this one included. */
export function callsLeft(room: StepRoom, closing = 0): number {
  const stride = room.stride ?? guessedStride(room);
  const last = room.start + room.recursionLimit - 1 - (stride - 2) - closing;
  return Math.max(0, Math.floor((last - room.superstep) / stride) + 1);
}

/** Before a distance was seen: as many nodes behind the model as stood before it, and one more, as such nodes are not seen yet. */
function guessedStride(room: StepRoom): number {
  const before = room.start === 0 ? room.superstep - 1 : 0;
  return 3 + 2 * before;
}

/**
 * LangGraph counts supersteps, not agent steps, and throws when a run is not over within `recursionLimit` of them: all that was
 * found is lost. These functions find the model call that has to be the last one. Everything is on the safe side: the
 * beginning of the invocation is not visible to a node, so the earliest that fits is assumed.
 */
export interface StepRoom {
  /** Last superstep after which the graph may still end without an error. */
  readonly lastSuperstep: number;
  /** Supersteps from one model call to the next, at least 2 (model, tools); more where other nodes stand between. */
  readonly stride: number;
}

/** Assumed number of nodes before the first model call where the state tells nothing about earlier steps. */
const UNSEEN_NODES = 8;

/**
 * Room of an invocation, at its first model call.
 *
 * @param superstep of this model call (`metadata.langgraph_step`, counted through the whole thread)
 * @param earlier superstep of the last model call that the state knows, from an earlier invocation
 */
export function roomAtFirstCall(input: {
  readonly superstep: number;
  readonly recursionLimit: number;
  readonly earlier?: number | undefined;
  readonly stride?: number | undefined;
}): StepRoom {
  const { superstep, recursionLimit, earlier } = input;
  // An invocation begins at the checkpoint behind its predecessor's last superstep, and gets one superstep of its own for it.
  const start =
    earlier !== undefined && earlier < superstep
      ? earlier + 2
      : superstep <= UNSEEN_NODES
        ? 0
        : superstep - UNSEEN_NODES;
  return { lastSuperstep: start + recursionLimit - 1, stride: Math.max(2, input.stride ?? 2) };
}

/** Takes the distance between two successive model calls of one invocation into account. */
export function widen(room: StepRoom, distance: number): StepRoom {
  return distance > room.stride ? { ...room, stride: distance } : room;
}

/**
 * Whether this model call has to be the closing one: the next would come too late to end without an error. Nodes beyond model
 * and tools may stand behind the model, so as many supersteps are left free behind the closing call.
 *
 * @param closing supersteps that follow a final answer (after-agent hooks, nodes of an outer graph that share the limit)
 */
export function isLastCall(room: StepRoom, superstep: number, closing = 0): boolean {
  return superstep + room.stride + (room.stride - 2) + closing > room.lastSuperstep;
}

/** Model calls that fit in an invocation with this limit. */
export function modelCallsWithin(recursionLimit: number, stride = 2): number {
  return Math.max(0, Math.floor(recursionLimit / stride));
}

import { type LastCall, roomAtFirstCall, roomAtNextCall, type StepRoom } from "./step-limit.ts";

/** What LangGraph tells a node about where it runs. */
export interface GraphPlace {
  /** An object that every invocation of a graph has its own of: the stream writer. */
  readonly invocation?: object | undefined;
  /** Checkpoint namespace of the node. */
  readonly namespace: string;
  readonly superstep?: number | undefined;
  readonly recursionLimit?: number | undefined;
}

/** Room for steps in the invocations that this process is running; forgotten with them. */
export class GraphRooms {
  readonly #rooms = new WeakMap<object, Map<string, StepRoom>>();

  /** undefined outside a graph. */
  enter(place: GraphPlace, last: LastCall | undefined): StepRoom | undefined {
    const { invocation, namespace, superstep, recursionLimit } = place;
    if (superstep === undefined || recursionLimit === undefined) return undefined;
    if (!invocation) return roomAtFirstCall(superstep, recursionLimit, last);
    const rooms = this.#rooms.get(invocation) ?? new Map<string, StepRoom>();
    this.#rooms.set(invocation, rooms);
    // A subgraph has a limit of its own and may share the writer; its namespace is the node's without the last part.
    const graph = namespace.split("|").slice(0, -1).join("|");
    const before = rooms.get(graph);
    const room = before
      ? roomAtNextCall(before, superstep)
      : roomAtFirstCall(superstep, recursionLimit, last);
    rooms.set(graph, room);
    return room;
  }
}

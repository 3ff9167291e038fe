import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GraphRooms } from "./graph-rooms.ts";
import type { LastCall } from "./step-limit.ts";
import { isLastCall, stepsNeeded } from "./step-limit.ts";

/** Plays LangGraph's count for an agent with nodes before and after the model, that calls tools until it is told to close. */
function play(
  limit: number,
  before: number,
  after: number,
  saved: number | undefined,
  last: LastCall | undefined,
) {
  const start = saved === undefined ? -1 : saved + 1;
  const stop = start + limit + 1;
  const rooms = new GraphRooms();
  const invocation = {};
  let step = start + 2;
  for (let calls = 1; ; calls++) {
    step += before;
    const room = rooms.enter({ invocation, namespace: "m:1", superstep: step, recursionLimit: limit }, last);
    if (!room) throw new Error("no room");
    if (room.first && stepsNeeded(room) > limit) return { refused: true, calls: 0, end: step, room };
    if (isLastCall(room)) {
      const end = step + after;
      return { calls, end, ok: end + 1 <= stop, room };
    }
    // The call, the nodes behind it, the tools.
    step += after + 2;
    if (step > stop) return { calls, end: step, ok: false, room };
  }
}

describe("step limit", () => {
  it("E10 ends before the limit in any shape of agent, on new and old threads", () => {
    const nodes = fc.integer({ min: 0, max: 3 });
    fc.assert(
      fc.property(
        fc.integer({ min: 18, max: 120 }),
        nodes,
        nodes,
        fc.option(fc.integer({ min: 3, max: 500 })),
        (limit, before, after, saved) => {
          const last = saved === null ? undefined : { superstep: saved - after, stride: 2 + before + after };
          const ended = play(limit, before, after, saved ?? undefined, last);
          expect(ended.refused || ended.ok).toBe(true);
        },
      ),
      { seed: 10, numRuns: 400 },
    );
  });

  it("E10 of a plain agent uses all but the last step, and refuses what is too small", () => {
    expect(play(25, 0, 0, undefined, undefined)).toMatchObject({ calls: 12, ok: true });
    expect(play(24, 0, 0, undefined, undefined)).toMatchObject({ calls: 12, ok: true });
    expect(play(7, 0, 0, undefined, undefined)).toMatchObject({ calls: 3, ok: true });
    expect(play(3, 0, 0, undefined, undefined)).toMatchObject({ refused: true });
    expect(play(4, 0, 0, 9, { superstep: 9, stride: 2 })).toMatchObject({ calls: 2, ok: true });
  });

  it("keeps subgraphs apart, and a retry of a superstep the same", () => {
    const rooms = new GraphRooms();
    const invocation = {};
    const place = (namespace: string, superstep: number) => ({
      invocation,
      namespace,
      superstep,
      recursionLimit: 25,
    });
    rooms.enter(place("model:1", 1), undefined);
    expect(rooms.enter(place("model:1", 1), undefined)).toMatchObject({ first: true });
    expect(rooms.enter(place("tools:9|model:3", 1), undefined)).toMatchObject({ first: true, superstep: 1 });
    expect(rooms.enter(place("model:2", 3), undefined)).toMatchObject({ first: false, stride: 2 });
    expect(rooms.enter({ namespace: "" }, undefined)).toBeUndefined();
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidOptionsError, StateFormatError } from "../errors.ts";
import { type LoopOptions, resolveLoopOptions } from "./loop-options.ts";
import { loopState, readLoops } from "./loop-state.ts";
import type { Observation } from "./observation.ts";
import { observeAction } from "./observe-action.ts";
import type { ActionInput } from "./observed-action.ts";

/** Observes actions in turn; what was said at each. */
function observeAll(actions: readonly ActionInput[], options?: LoopOptions): Observation[] {
  let state = loopState();
  return actions.map((action) => {
    const seen = observeAction(state, action, options);
    // what a checkpoint would do to it
    state = readLoops(JSON.parse(JSON.stringify(seen.state)));
    return seen;
  });
}

function signals(actions: readonly ActionInput[], options?: LoopOptions): string[] {
  return observeAll(actions, options).map(({ signal }) => signal);
}

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const none = (count: number) => times(count, () => "none");
/** Long enough to be news by itself. */
const rows = (seed: unknown) => `rows of page ${String(seed)}: `.padEnd(120, `${String(seed)} `);

describe("the ladder", () => {
  it("hints at the third round of a cycle, blocks at the fourth, stops at the fifth, each once", () => {
    const seen = observeAll(times(7, () => ({ tool: "read", args: { path: "a" }, result: "same text" })));
    expect(seen.map(({ signal }) => signal)).toEqual([
      "none",
      "none",
      "hint",
      "block",
      "stop",
      "none",
      "none",
    ]);
    expect(seen[2]).toMatchObject({ kind: "cycle", reason: "loop" });
    expect(seen[2]!.evidence).toContain('read {"path":"a"}');
  });

  it("begins again at the bottom when a loop was left", () => {
    const stuck = () => ({ tool: "read", args: {}, result: "x" });
    const other = (i: number) => ({ tool: "look", args: { i }, result: rows(i) });
    const run = [...times(3, stuck), other(1), other(2), ...times(3, stuck)];
    expect(signals(run)).toEqual([...none(2), "hint", ...none(4), "hint"]);
  });

  it("stops no sooner than one step after the hint, however many calls one step repeats", () => {
    const batch = (group: string) => times(6, () => ({ tool: "read", args: {}, result: "x", group }));
    expect(signals(batch("m1"))).toEqual([...none(2), "hint", ...none(3)]);
    const two = signals([...batch("m1"), ...batch("m2"), ...batch("m3")]);
    expect(two.slice(6, 12)).toEqual(["block", ...none(5)]);
    expect(two.slice(12)).toEqual(["stop", ...none(5)]);
  });

  it("follows the thresholds given, on both sides, and Infinity turns a rung off", () => {
    const stuck = times(9, () => ({ tool: "read", args: {}, result: "x" }));
    const options: LoopOptions = {
      window: 60,
      cycle: { hint: 2, block: Number.POSITIVE_INFINITY, stop: 6 },
      actions: { hint: Number.POSITIVE_INFINITY },
      noProgress: { hint: Number.POSITIVE_INFINITY },
    };
    expect(signals(stuck, options)).toEqual(["none", "hint", ...none(3), "stop", ...none(3)]);
  });

  it("stops on a cycle of calls whose results keep changing only at the fifth round, after a hint at the fourth", () => {
    const seen = observeAll(times(5, (i) => ({ tool: "next", args: {}, result: rows(i) })));
    expect(seen.map(({ signal }) => signal)).toEqual([...none(3), "hint", "stop"]);
    expect(seen[4]).toMatchObject({ kind: "actions", reason: "loop" });
  });
});

describe("B1: polling", () => {
  const poll: LoopOptions = { tools: { read_output: { poll: { atMost: 5 } } } };
  const start = { tool: "start_build", args: {}, result: "started h:b7" };
  const read = (result: string) => ({ tool: "read_output", args: { h: "b7" }, result });

  it("B1: changing output is never a loop", () => {
    const run = [start, ...times(15, (i) => read(`${(i + 1) * 5} %`))];
    expect(signals(run, poll)).toEqual(none(16));
  });

  it("B1: an unchanged result is hinted at the set number, blocked 2 later, stopped 3 later", () => {
    const seen = signals([start, ...times(15, () => read("idle"))], poll).slice(1);
    expect(seen.indexOf("hint")).toBe(4);
    expect(seen.indexOf("block")).toBe(6);
    expect(seen.indexOf("stop")).toBe(9);
    expect(seen.filter((it) => it !== "none")).toHaveLength(3);
    const atTwo = { tools: { read_output: { poll: { atMost: 2 } } } };
    expect(
      signals(
        times(3, () => read("idle")),
        atTwo,
      ),
    ).toEqual(["none", "hint", "none"]);
  });

  it("B1: polling between other waiting calls is one wait, and a change starts the count again", () => {
    const sleep = { tool: "sleep", args: { s: 5 }, result: "" };
    const options = { tools: { ...poll.tools, sleep: { poll: {} } } };
    const round = (result: string) => [read(result), sleep];
    const changing = times(8, (i) => round(`${i} %`)).flat();
    // the sleep is declared as waiting too: its own result never changes, so it reaches its own limit
    expect(signals(changing.slice(0, 8), options)).toEqual(none(8));
    const reset = [...times(4, () => read("idle")), read("10 %"), ...times(4, () => read("10 %"))];
    expect(signals(reset, options)).toEqual([...none(8), "hint"]);
  });

  it("B1: intent comes from the declaration, never from words", () => {
    const run = times(5, () => ({
      tool: "check_status_and_wait",
      args: { command: "wait for status" },
      result: "idle",
    }));
    expect(signals(run)).toEqual(["none", "none", "hint", "block", "stop"]);
  });

  it("B1: durations and times of day in a result are no change, percentages are", () => {
    const elapsed = (s: number) => read(`idle since 2026-11-30T10:00:0${s}Z, elapsed ${s}.2 s`);
    expect(signals(times(5, elapsed), poll)).toEqual([...none(4), "hint"]);
  });
});

describe("B3: cycles and batches", () => {
  const lookup = { tool: "lookup", args: { q: "a" }, result: "A is 1" };
  const search = { tool: "search", args: { q: "b" }, result: "B is 2" };

  it.each([1, 2, 3, 4, 5])(
    "B3: a cycle of %i is found at the third full repetition and not before",
    (period) => {
      const round = times(period, (i) => ({ tool: `tool_${i}`, args: { i }, result: rows(i) }));
      const patient: LoopOptions = { noProgress: { hint: Number.POSITIVE_INFINITY } };
      const seen = signals([...round, ...round, ...round], patient);
      expect(seen.slice(0, -1)).toEqual(none(3 * period - 1));
      expect(seen.at(-1)).toBe("hint");
    },
  );

  it("B3 (i): A-B-A-B with the same results", () => {
    const seen = signals(times(4, () => [lookup, search]).flat());
    expect(seen.slice(0, 5)).toEqual(none(5));
    expect(seen[5]).toBe("hint");
    expect(seen[7]).toBe("block");
  });

  it("B3 (ii): read, edit, test", () => {
    const round = [
      { tool: "read", args: { f: "f" }, result: "text of f" },
      { tool: "edit", args: { f: "f" }, result: "no match" },
      { tool: "test", args: {}, result: "2 failed" },
    ];
    const seen = signals(times(4, () => round).flat());
    expect(seen.findIndex((it) => it !== "none")).toBeGreaterThan(5);
    expect(seen.findIndex((it) => it !== "none")).toBeLessThanOrEqual(8);
  });

  it("B3 (iii): equal calls in one message, but not two", () => {
    const equal = (count: number) => times(count, () => ({ ...lookup, group: "m1" }));
    expect(signals(equal(2))).toEqual(none(2));
    expect(signals(equal(5))[2]).toBe("hint");
  });

  it("B3 (v): a whole fan-out in any order", () => {
    const c = { tool: "fetch", args: { u: "c" }, result: "C is 3" };
    const fanOut = (group: string, ...calls: ActionInput[]) => calls.map((call) => ({ ...call, group }));
    const run = [
      ...fanOut("m1", lookup, search, c),
      ...fanOut("m2", c, lookup, search),
      ...fanOut("m3", search, c, lookup),
    ];
    const seen = signals(run);
    expect(seen.slice(0, 8)).toEqual(none(8));
    expect(seen[8]).toBe("hint");
  });

  it("B3: any order of the calls of each batch leads to the same state", () => {
    const call = fc.record({
      tool: fc.constantFrom("a", "b"),
      args: fc.nat(2),
      result: fc.constantFrom("x", "y"),
    });
    const batches = fc.array(fc.array(call, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(batches, (given) => {
        const observe = (order: (batch: ActionInput[]) => ActionInput[]) => {
          let state = loopState();
          given.forEach((batch, i) => {
            for (const action of order(batch))
              state = observeAction(state, { ...action, group: `m${i}` }).state;
          });
          return state.window.map(({ action, outcome, step }) => [action, outcome, step]);
        };
        expect(observe((batch) => batch.toReversed())).toEqual(observe((batch) => batch));
      }),
      { seed: 3 },
    );
  });
});

describe("B5: identity of a call", () => {
  const key = (args: unknown, tool = "t", options?: LoopOptions) =>
    observeAction(loopState(), { tool, args, result: "x" }, options).state.window[0]!.action;

  it("B5: key order and JSON text do not matter, list order and types do", () => {
    expect(key({ path: "a", o: { x: 1, y: [1, 2] } })).toBe(key({ o: { y: [1, 2], x: 1 }, path: "a" }));
    expect(key({ o: { y: [2, 1] } })).not.toBe(key({ o: { y: [1, 2] } }));
    expect(key({ a: "1" })).not.toBe(key({ a: 1 }));
    expect(key('{"b":2,"a":1}')).toBe(key({ a: 1, b: 2 }));
    expect(key("")).toBe(key({}));
    expect(key("not json")).not.toBe(key("not json either"));
    expect(key({}, "u")).not.toBe(key({}, "t"));
    expect(key({}, "t", { tools: { t: { version: "2" } } })).not.toBe(key({}, "t"));
  });

  it("B5: arguments without a canonical form equal nothing, not even themselves", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const run = times(6, () => ({ tool: "t", args: cycle, result: rows(1) }));
    expect(observeAll(run).map(({ kind }) => kind)).not.toContain("cycle");
    expect(
      new Set(
        observeAll(run)
          .at(-1)!
          .state.window.map(({ action }) => action),
      ).size,
    ).toBe(6);
  });
});

describe("B7: work that repeats and is no loop", () => {
  const declared: LoopOptions = {
    tools: {
      edit: { effect: "record" },
      write: { effect: "record" },
      read: { effect: "none" },
      test: { effect: "none" },
    },
  };

  it("B7 (i): a batch of moves, whatever they answer", () => {
    for (const result of ["ok", "", "moved", "true"]) {
      const run = times(25, (i) => ({ tool: "move", args: { from: `f${i + 1}` }, result }));
      expect(signals(run)).toEqual(none(25));
      expect(signals(run, { tools: { move: { effect: "record" } } })).toEqual(none(25));
    }
  });

  it("B7 (ii): paging with new rows", () => {
    const run = times(25, (i) => ({ tool: "list", args: { offset: i * 50 }, result: rows(i) }));
    expect(signals(run)).toEqual(none(25));
  });

  it("B7 (iii): re-reading and re-testing after edits", () => {
    const run = [
      { tool: "read", args: { path: "a" }, result: "v1" },
      { tool: "edit", args: { path: "a", to: "v2" }, result: "ok" },
      { tool: "test", args: {}, result: "3 failed" },
      { tool: "edit", args: { path: "a", to: "v3" }, result: "ok" },
      { tool: "test", args: {}, result: "1 failed" },
      { tool: "read", args: { path: "a" }, result: "v3" },
      { tool: "test", args: {}, result: "0 failed" },
    ];
    expect(signals(run)).toEqual(none(7));
    expect(signals(run, declared)).toEqual(none(7));
  });

  it("B7 (iv): two equal reads in one batch", () => {
    const read = { tool: "read", args: { path: "a" }, result: "v1", group: "m1" };
    expect(signals([read, read])).toEqual(none(2));
  });

  it("B7: one source read before each of many writes", () => {
    const run = times(10, (i) => [
      { tool: "read", args: { path: "template" }, result: "the template" },
      { tool: "write", args: { path: `out${i}` }, result: "ok" },
    ]).flat();
    expect(signals(run, declared)).toEqual(none(20));
    expect(signals(run)).toEqual(none(20));
  });

  it("B7: a test that fails in the same way between real edits", () => {
    const run = times(8, (i) => [
      { tool: "edit", args: { path: "a", to: `v${i}` }, result: "ok" },
      { tool: "test", args: {}, result: "2 failed", isError: true },
    ]).flat();
    expect(signals(run, declared)).toEqual(none(16));
  });

  it("B7, control: flip-flop edits with an unchanged test are found by the third time", () => {
    const edit = (to: string) => ({ tool: "edit", args: { path: "a", to }, result: "ok" });
    const test = { tool: "test", args: {}, result: "3 failed" };
    const withTests = signals(times(3, () => [edit("X"), test, edit("Y"), test]).flat(), declared);
    expect(withTests).toContain("hint");
    expect(withTests.slice(0, 6)).toEqual(none(6));
    expect(signals(times(3, () => [edit("X"), edit("Y"), test]).flat(), declared)).toContain("hint");
  });

  it("B7: a write resets reads that can see it, a write elsewhere does not", () => {
    const read = { tool: "read", args: { path: "a" }, result: "v1" };
    const write = (path: string) => ({ tool: "write", args: { path, text: "t" }, result: "ok" });
    expect(signals([read, read, write("a"), read, read], declared)).toEqual(none(5));
    expect(signals([read, read, write("b"), read], declared)).toEqual([...none(3), "hint"]);
  });
});

describe("B9: outage, stuck, or nothing there", () => {
  it("B9 (i): rate limits are unavailable, not a loop", () => {
    const seen = observeAll(
      times(10, () => ({ tool: "fetch", args: { u: "x" }, result: "429 retry after 5 s" })),
    );
    expect(seen.slice(0, 4).map(({ signal }) => signal)).toEqual(none(4));
    expect(seen.every(({ reason }) => reason === "unavailable")).toBe(true);
    expect(seen.map(({ signal }) => signal)).toEqual([...none(4), "hint", ...none(4), "stop"]);
    for (const result of ["HTTP 503 Service Unavailable", "Error: status code 503", "Too many requests"]) {
      const [first] = observeAll([{ tool: "fetch", result, isError: true }]);
      expect(first).toMatchObject({ signal: "none", reason: "unavailable" });
    }
    const [prose] = observeAll([
      { tool: "test", result: "AssertionError: expected 503 rows, got 429", isError: true },
    ]);
    expect(prose).not.toHaveProperty("reason");
  });

  it.each([true, undefined])("B9 (ii): the same normalised error of one tool, isError %s", (isError) => {
    const lines = [10, 12, 15, 11, 9];
    const run = lines.map((line, i) => ({
      tool: "edit",
      args: { f: "f", old: `v${i}` },
      result: `text not found (line ${line})`,
      ...(isError && { isError }),
    }));
    const seen = observeAll(run);
    expect(seen.map(({ signal }) => signal)).toEqual(["none", "none", "hint", "none", "stop"]);
    expect(seen[4]).toMatchObject({ kind: "error", reason: "loop" });
  });

  it("B9 (ii): other errors, another tool's success, or five failures of one batch are not the same error in a row", () => {
    const fail = (i: number, result = "connection lost") => ({
      tool: "edit",
      args: { i },
      result,
      isError: true,
    });
    expect(signals(times(6, (i) => fail(i, `no column named c${i}x`)))).toEqual(none(6));
    const between = times(6, (i) => [fail(i), { tool: "read", args: { i }, result: rows(i) }]).flat();
    expect(signals(between)).toEqual(none(12));
    expect(signals(times(5, (i) => ({ ...fail(i), group: "m1" })))).toEqual(none(5));
  });

  it("B9 (iii): an empty result again and again is final, and is no progress", () => {
    const seen = observeAll(times(6, () => ({ tool: "api", args: {}, result: "" })));
    expect(seen.map(({ signal }) => signal)).toEqual([...none(2), "hint", "block", "stop", "none"]);
    expect(seen[2]).toMatchObject({ reason: "no_progress" });
    expect(seen[2]!.evidence).toContain("empty 3 times");
    const exit = observeAll(times(3, () => ({ tool: "api", args: {}, result: "exit 0, empty output" })));
    expect(exit[2]).toMatchObject({ signal: "hint", reason: "no_progress" });
  });

  it("B9 (iv): three equal empty answers are hinted", () => {
    const seen = observeAll(times(3, () => ({ tool: "memory", args: { q: "x" }, result: "empty" })));
    expect(seen[2]).toMatchObject({ signal: "hint", reason: "no_progress" });
  });

  it("B9: different questions that find nothing are no progress: 5 steps hint, 7 stop", () => {
    const seen = observeAll(
      times(8, (i) => ({ tool: "search", args: { q: `q${i}` }, result: "No results found." })),
    );
    // the first "nothing" is news
    expect(seen.map(({ signal }) => signal)).toEqual([...none(5), "hint", "none", "stop"]);
    expect(seen[7]).toMatchObject({ kind: "no_progress", reason: "no_progress" });
  });

  it("B9: what a progress checkpoint knows counts, whatever its text says", () => {
    const look = (i: number) => ({ tool: "search", args: { q: `q${i}` }, result: "No results found." });
    const saved = (moved: boolean) => ({ tool: "checkpoint", args: { moved }, result: "Saved.", moved });
    expect(signals([...times(5, look), saved(true), ...times(4, look)])).toEqual(none(10));
    expect(signals([...times(5, look), saved(false)]).at(-1)).toBe("hint");
  });
});

describe("the state", () => {
  it("is plain JSON, bounded, and never changed in place", () => {
    const action = fc.record({
      tool: fc.constantFrom("a", "b", "c"),
      args: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), fc.string()),
      result: fc.oneof(fc.string(), fc.jsonValue()),
      isError: fc.option(fc.boolean(), { nil: undefined }),
      group: fc.option(fc.constantFrom("g1", "g2"), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        let state = loopState();
        for (const given of actions) {
          const before = JSON.stringify(state);
          const seen = observeAction(state, given);
          expect(JSON.stringify(state)).toBe(before);
          expect(JSON.parse(JSON.stringify(seen.state))).toEqual(seen.state);
          state = seen.state;
        }
        expect(readLoops(state)).toEqual(state);
        expect(state.window.length).toBeLessThanOrEqual(25);
        expect(state.outcomes.length).toBeLessThanOrEqual(100);
      }),
      { seed: 7, numRuns: 60 },
    );
  });

  it("is refused when it is damaged or newer", () => {
    expect(() => readLoops({ v: 2 })).toThrow(StateFormatError);
    expect(() => readLoops({ ...loopState(), window: "x" })).toThrow(StateFormatError);
    expect(readLoops(undefined)).toEqual(loopState());
  });
});

describe("resolveLoopOptions", () => {
  it.each([
    { window: 10 },
    { window: 0 },
    { maxPeriod: 0 },
    { cycle: { hint: 3, block: 2 } },
    { errors: { hint: 1.5 } },
    { noProgress: { hint: 5, stop: 4 } },
    { similarity: 0 },
    { nudges: -1 },
    { tools: { t: { poll: { atMost: 0 } } } },
  ] satisfies LoopOptions[])("refuses %j at once", (options) => {
    expect(() => resolveLoopOptions(options)).toThrow(InvalidOptionsError);
  });
});

import { AIMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import {
  FatalTaskError,
  InvalidOptionsError,
  LeaseHeldError,
  memoryStorage,
  sealMessage,
  superviseRun,
  superviseStream,
} from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { ask, bench, httpError, scriptedAgent, shown, thread } from "./supervised-agent.ts";

const both = [{ name: "search" }, { name: "charge" }] as const;
const resumeOf = (config: { configurable?: Record<string, unknown> }) =>
  config.configurable?.longhaul_resume as { note: string; lastFailure?: string } | undefined;

describe("an undisturbed run", () => {
  it("completes in one attempt and says so", async () => {
    const { options, events } = bench();
    const { graph, seen } = scriptedAgent({ turns: [[{ name: "search" }], "found"] });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({
      status: "COMPLETED",
      stopReason: "final_answer",
      attempts: 1,
      interrupts: [],
    });
    expect(result.lastFailure).toBeUndefined();
    expect(shown(result.state.messages)).toEqual([
      "human: go",
      "ai: → search",
      "tool: search done",
      "ai: found",
    ]);
    expect(seen.every(({ config }) => resumeOf(config) === undefined)).toBe(true);
    expect(events.map(({ type }) => type)).toEqual(["recovery.admitted", "recovery.ended"]);
  });

  it("takes the same words after the end as a new turn, and null as nothing to do", async () => {
    const { options } = bench();
    const { graph } = scriptedAgent({ turns: ["one", "two"] });
    await superviseRun(graph, ask("again"), thread(), options);
    const second = await superviseRun(graph, ask("again"), thread(), options);
    expect(shown(second.state.messages)).toEqual(["human: again", "ai: one", "human: again", "ai: two"]);
    const third = await superviseRun(graph, null, thread(), options);
    expect(third).toMatchObject({ status: "COMPLETED", runId: second.runId });
    const history = [];
    for await (const record of options.storage.runs.history("t")) history.push(record.status);
    expect(history).toEqual(["COMPLETED"]);
  });

  it("leaves room for 500 steps unless the config has a limit of its own", async () => {
    const { options } = bench();
    const turns = [...Array.from({ length: 60 }, () => [{ name: "search" }]), "done"];
    expect(await superviseRun(scriptedAgent({ turns }).graph, ask("go"), thread(), options)).toMatchObject({
      status: "COMPLETED",
    });
    const { graph } = scriptedAgent({ turns });
    const short = await superviseRun(graph, ask("go"), { ...thread("u"), recursionLimit: 7 }, options);
    expect(short).toMatchObject({ status: "PAUSED", stopReason: "step_limit" });
    expect(await superviseRun(graph, null, thread("u"), options)).toMatchObject({
      status: "COMPLETED",
      attempts: 2,
    });
  });
});

describe("failures", () => {
  it("resumes after a passing one without running the finished sibling again, and tells the model", async () => {
    const { options, waits } = bench();
    let down = true;
    const { graph, calls, seen } = scriptedAgent({
      turns: [both, "done"],
      tool: ({ name }) => {
        if (name === "charge" && down) {
          down = false;
          throw httpError(503);
        }
        return undefined;
      },
    });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({
      status: "COMPLETED",
      attempts: 2,
      lastFailure: { class: "retryable", code: "HTTP_503", where: ["charge"] },
    });
    expect(calls).toEqual(["search", "charge", "charge"]);
    expect(waits).toEqual([1_000]);
    const note = resumeOf(seen[1]?.config ?? {});
    expect(note?.note).toContain("resumed at step 1");
    expect(note?.note).toContain("Finished calls of step 1: search.");
    expect(note?.note).toContain("taken up again: charge");
    expect(note?.lastFailure).toBe("HTTP_503 (retryable) in charge: status 503");
    expect(note?.note).not.toContain(".ts:");
  });

  it("waits 1, 5, 30 s for one step, then needs a human, and stays so until one reopens it", async () => {
    const { options, waits, events } = bench();
    let healthy = false;
    const { graph, calls } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: () => {
        if (!healthy) throw httpError(500);
        return "found";
      },
    });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({ status: "NEEDS_HUMAN", stopReason: "recovery_limit", attempts: 4 });
    expect(waits).toEqual([1_000, 5_000, 30_000]);
    expect(events.filter(({ type }) => type === "recovery.failed")).toHaveLength(4);
    for (const input of [ask("go"), null]) {
      expect(await superviseRun(graph, input, thread(), options)).toMatchObject({
        status: "NEEDS_HUMAN",
        stopReason: "recovery_limit",
        attempts: 4,
      });
    }
    expect(calls).toHaveLength(4);
    healthy = true;
    const reopened = await superviseRun(graph, null, thread(), { ...options, reopen: true });
    expect(reopened).toMatchObject({ status: "COMPLETED", attempts: 5 });
    expect(shown(reopened.state.messages)).toEqual(["human: go", "ai: → search", "tool: found", "ai: done"]);
  });

  it("counts recoveries over the run, not only of one step", async () => {
    const { options } = bench();
    const failed = new Set<string>();
    const turns = Array.from({ length: 10 }, (_, i) => [{ name: `tool${i}` }]);
    const { graph } = scriptedAgent({
      turns,
      tool: ({ name }) => {
        if (failed.has(name)) return "ok";
        failed.add(name);
        throw httpError(502);
      },
    });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({ status: "NEEDS_HUMAN", stopReason: "recovery_limit", attempts: 6 });
    expect([...failed]).toEqual(["tool0", "tool1", "tool2", "tool3", "tool4", "tool5"]);
  });

  it("answers the calls of a step beyond its cap with errors when told to skip", async () => {
    const { options } = bench({ onStepCap: "skip", caps: { step: 1 } });
    const { graph, calls, seen } = scriptedAgent({
      turns: [both, "without it"],
      tool: ({ name }) => {
        if (name === "charge") throw new Error("broken pipe dream");
        return "found";
      },
    });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({ status: "COMPLETED" });
    expect(calls).toEqual(["search", "charge", "charge"]);
    expect(seen[1]?.messages[2]).toBe("tool: found");
    expect(seen[1]?.messages[3]).toContain("broken pipe dream");
  });

  it("ends at once when the error is fatal, however deep", async () => {
    for (const error of [
      httpError(401),
      new Error("outer", {
        cause: new Error("middle", { cause: new FatalTaskError("the goal contradicts itself") }),
      }),
    ]) {
      const { options, waits } = bench();
      const { graph } = scriptedAgent({ turns: [error] });
      const result = await superviseRun(graph, ask("go"), thread(), options);
      expect(result).toMatchObject({ status: "FAILED", stopReason: "fatal_error", attempts: 1 });
      expect(result.lastFailure?.class).toBe("fatal");
      expect(waits).toEqual([]);
    }
  });

  it("is never earlier than a server's Retry-After", async () => {
    const { options, waits } = bench();
    const { graph } = scriptedAgent({ turns: [httpError(429, { "retry-after": "17" }), "done"] });
    expect(await superviseRun(graph, ask("go"), thread(), options)).toMatchObject({ status: "COMPLETED" });
    expect(waits).toEqual([17_000]);
  });

  it("keeps secrets out of the record, the result and the note", async () => {
    const { options } = bench();
    const secret = "sk-abcdefghijklmnopqrstuvwx";
    const { graph, seen } = scriptedAgent({ turns: [new Error(`refused key ${secret}`), "done"] });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    const current = await options.storage.runs.current("t");
    expect(
      JSON.stringify([result.lastFailure, current, seen.map(({ config }) => resumeOf(config))]),
    ).not.toContain(secret);
    expect(current?.record.lastFailure?.stack?.length).toBeLessThanOrEqual(4_000);
  });

  it("tries the storage again when it is out of reach for a moment, without counting a failure", async () => {
    const saver = new MemorySaver();
    let failures = 2;
    const getTuple = saver.getTuple.bind(saver);
    saver.getTuple = async (config) => {
      if (failures-- > 0) throw Object.assign(new Error("gone"), { code: "ECONNREFUSED" });
      return getTuple(config);
    };
    const { options, waits } = bench();
    const { graph } = scriptedAgent({ turns: ["done"], checkpointer: saver });
    expect(await superviseRun(graph, ask("go"), thread(), options)).toMatchObject({
      status: "COMPLETED",
      attempts: 1,
    });
    expect(waits).toEqual([1_000, 5_000]);
  });
});

/** What a killed process leaves: its record says RUNNING, its lease is free or will be. */
async function killed(options: ReturnType<typeof bench>["options"], id = "t") {
  const run = await options.storage.runs.current(id);
  if (!run) throw new Error("no run");
  await options.storage.runs.update(id, run, { status: "RUNNING", stopReason: undefined });
}

describe("crashes, as the next process finds them", () => {
  it("D1: goes on after the cut step with the same input, counts the crash and tells the model", async () => {
    const { options } = bench();
    const pause = new AbortController();
    const { graph, calls, seen } = scriptedAgent({
      turns: [[{ name: "search" }], [{ name: "charge" }], "done"],
      tool: ({ name }) => {
        if (name === "search") pause.abort();
        return undefined;
      },
    });
    const first = await superviseRun(graph, ask("go"), thread(), { ...options, signal: pause.signal });
    expect(first).toMatchObject({ status: "PAUSED", stopReason: "drained" });
    await killed(options);
    const second = await superviseRun(graph, ask("go"), thread(), options);
    expect(second).toMatchObject({ status: "COMPLETED", attempts: 2, lastFailure: { code: "CRASH" } });
    expect(calls).toEqual(["search", "charge"]);
    expect(resumeOf(seen[1]?.config ?? {})?.note).toContain("ended unexpectedly");
    expect(shown(second.state.messages).filter((line) => line === "human: go")).toHaveLength(1);
  });

  it("gives the stored input again when nothing was saved, also on a thread with a past", async () => {
    const { options } = bench();
    const { graph } = scriptedAgent({ turns: ["one", "two"] });
    const stopped = AbortSignal.abort();
    for (const [turn, words] of ["first", "second"].entries()) {
      await superviseRun(graph, ask(words), thread(), { ...options, signal: stopped });
      await killed(options);
      const result = await superviseRun(graph, null, thread(), options);
      expect(result.status).toBe("COMPLETED");
      expect(shown(result.state.messages).slice(-2)).toEqual([
        `human: ${words}`,
        `ai: ${["one", "two"][turn]}`,
      ]);
    }
  });

  it("only records the end when the last step was done", async () => {
    const { options } = bench();
    const { graph, seen } = scriptedAgent({ turns: ["done"] });
    await superviseRun(graph, ask("go"), thread(), options);
    await killed(options);
    expect(await superviseRun(graph, ask("go"), thread(), options)).toMatchObject({
      status: "COMPLETED",
      attempts: 1,
    });
    expect(seen).toHaveLength(1);
  });

  it("ends a run that dies again and again at one step", async () => {
    const { options } = bench();
    const { graph } = scriptedAgent({ turns: ["done"] });
    for (let death = 1; death <= 4; death++) {
      await superviseRun(graph, ask("go"), thread(), { ...options, signal: AbortSignal.abort() });
      await killed(options);
    }
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({
      status: "NEEDS_HUMAN",
      stopReason: "recovery_limit",
      lastFailure: { code: "CRASH" },
    });
  });

  it("recognises the input of an unfinished run where no record survived", async () => {
    const pause = new AbortController();
    const { graph, calls } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: () => void pause.abort(),
    });
    await superviseRun(graph, ask("go"), thread(), { ...bench().options, signal: pause.signal });
    const result = await superviseRun(graph, ask("go"), thread(), bench().options);
    expect(result).toMatchObject({ status: "COMPLETED" });
    expect(calls).toEqual(["search"]);
    expect(shown(result.state.messages)[0]).toBe("human: go");
    expect(shown(result.state.messages).filter((line) => line.startsWith("human"))).toHaveLength(1);
  });
});

describe("pauses", () => {
  it("drains at the next boundary and goes on with null, without counting a failure", async () => {
    const { options, events } = bench();
    const pause = new AbortController();
    const { graph } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: () => void pause.abort(),
    });
    const paused = await superviseRun(graph, ask("go"), thread(), { ...options, signal: pause.signal });
    expect(paused).toMatchObject({ status: "PAUSED", stopReason: "drained" });
    expect(shown(paused.state.messages)).toEqual(["human: go", "ai: → search", "tool: search done"]);
    expect(await superviseRun(graph, null, thread(), options)).toMatchObject({
      status: "COMPLETED",
      attempts: 2,
    });
    expect(events.some(({ type }) => type === "recovery.failed")).toBe(false);
  });

  it("is cancelled by the config's signal, in a tool or while it waits", async () => {
    const cancel = new AbortController();
    const { options } = bench();
    const { graph } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: () => {
        cancel.abort();
        throw httpError(500);
      },
    });
    const result = await superviseRun(graph, ask("go"), { ...thread(), signal: cancel.signal }, options);
    expect(result).toMatchObject({ status: "PAUSED", stopReason: "cancelled", attempts: 1 });
  });

  it("treats SIGTERM as a request to pause and leaves no listener behind", async () => {
    const before = process.listenerCount("SIGTERM");
    const { options } = bench({ drainOnSigterm: true });
    const { graph } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: () => void process.emit("SIGTERM"),
    });
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({ status: "PAUSED", stopReason: "drained" });
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });

  it("stands at an interrupt without asking twice, and takes the answer", async () => {
    const { options } = bench();
    let asked = 0;
    const { graph } = scriptedAgent({
      turns: [both, "done"],
      tool: ({ name }) => {
        if (name !== "charge") return undefined;
        asked++;
        return interrupt("charge 30?");
      },
    });
    const paused = await superviseRun(graph, ask("go"), thread(), options);
    expect(paused).toMatchObject({ status: "PAUSED", interrupts: [{ value: "charge 30?" }] });
    expect(paused.stopReason).toBeUndefined();
    expect(await superviseRun(graph, ask("go"), thread(), options)).toMatchObject({
      status: "PAUSED",
      interrupts: [{ value: "charge 30?" }],
    });
    expect(asked).toBe(1);
    const done = await superviseRun(graph, new Command({ resume: "yes" }), thread(), options);
    expect(done).toMatchObject({ status: "COMPLETED", runId: paused.runId });
    expect(shown(done.state.messages)).toContain("tool: yes");
  });

  it("C6: an answer given before a crash does not answer the next question", async () => {
    const answers: string[] = [];
    let healthy = false;
    const graph = new StateGraph(Annotation.Root({ log: Annotation<string[]> }))
      .addNode("ask", () => {
        const first = interrupt("delete A?") as string;
        if (!healthy) throw new Error("fell over");
        const second = interrupt("delete B?") as string;
        answers.push(first, second);
        return { log: [first, second] };
      })
      .addEdge(START, "ask")
      .compile({ checkpointer: new MemorySaver() });
    const { options } = bench({ caps: { step: 0 } });
    await superviseRun(graph, { log: [] }, thread(), options);
    const yes = new Command({ resume: "yes, A" });
    expect(await superviseRun(graph, yes, thread(), options)).toMatchObject({ status: "NEEDS_HUMAN" });
    await killed(options);
    healthy = true;
    const asks = await superviseRun(graph, yes, thread(), { ...options, caps: { step: 3 } });
    expect(asks).toMatchObject({ status: "PAUSED", interrupts: [{ value: "delete B?" }] });
    expect(answers).toEqual([]);
    await superviseRun(graph, new Command({ resume: "no, not B" }), thread(), options);
    expect(answers).toEqual(["yes, A", "no, not B"]);
  });

  it("takes the run's own input, given again by a worker that knows nothing else, as this run also after an answer", async () => {
    let dies = true;
    const seen: unknown[] = [];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("ask", () => {
        seen.push(interrupt("sure?"));
        if (dies) throw new Error("fell over");
        return { messages: [new AIMessage("did it")] };
      })
      .addEdge(START, "ask")
      .compile({ checkpointer: new MemorySaver() });
    const { options } = bench({ caps: { step: 0 } });
    await superviseRun(graph, ask("go"), thread(), options);
    // while it waits, too
    expect(await superviseRun(graph, ask("go"), thread(), options)).toMatchObject({ status: "PAUSED" });
    await superviseRun(graph, new Command({ resume: "yes" }), thread(), options);
    await killed(options);
    dies = false;
    const done = await superviseRun(graph, ask("go"), thread(), { ...options, caps: { step: 3 } });
    expect(done).toMatchObject({ status: "COMPLETED" });
    expect(shown(done.state.messages)).toEqual(["human: go", "ai: did it"]);
    expect(seen).toEqual(["yes", "yes"]);
  });

  it("goes on behind the last word of a guard with null, and repeats the end for the same input", async () => {
    const { options } = bench();
    const seal = sealMessage({ status: "PAUSED", reason: "budget:tokens" }, "half of it");
    const { graph, seen } = scriptedAgent({ turns: [seal, "all of it"] });
    expect(await superviseRun(graph, ask("go"), thread(), options)).toMatchObject({
      status: "PAUSED",
      stopReason: "budget:tokens",
    });
    expect(await superviseRun(graph, ask("go"), thread(), options)).toMatchObject({
      stopReason: "budget:tokens",
    });
    expect(seen).toHaveLength(1);
    const done = await superviseRun(graph, null, thread(), options);
    expect(done).toMatchObject({ status: "COMPLETED" });
    expect(shown(done.state.messages)).toEqual(["human: go", "ai: half of it", "ai: all of it"]);
  });
});

describe("a new message on an unfinished run", () => {
  it("answers the cut calls, keeps the finished sibling, and begins a run of its own", async () => {
    const { options } = bench({ caps: { step: 0 } });
    const { graph, seen, calls } = scriptedAgent({
      turns: [both, "fine"],
      tool: ({ name }) => {
        if (name === "charge") throw httpError(500);
        return "found";
      },
    });
    const failed = await superviseRun(graph, ask("go"), thread(), options);
    expect(failed.status).toBe("NEEDS_HUMAN");
    const result = await superviseRun(graph, ask("leave it"), thread(), options);
    expect(result).toMatchObject({ status: "COMPLETED", attempts: 1 });
    expect(result.runId).not.toBe(failed.runId);
    expect(calls).toEqual(["search", "charge"]);
    const [go, batch, found, placeholder, leave] = seen[1]?.messages ?? [];
    expect([go, batch, found, leave]).toEqual([
      "human: go",
      "ai: → search, charge",
      "tool: found",
      "human: leave it",
    ]);
    expect(placeholder).toMatch(/^tool: This call did not finish.*verify/);
  });

  it("loses nothing that was said before it", async () => {
    const { options } = bench();
    const { graph, seen } = scriptedAgent({ turns: ["both done"] });
    await superviseRun(graph, ask("do A"), thread(), { ...options, signal: AbortSignal.abort() });
    await superviseRun(graph, ask("and B"), thread(), { ...options, signal: AbortSignal.abort() });
    await superviseRun(graph, ask("and C"), thread(), { ...options, signal: AbortSignal.abort() });
    await killed(options);
    await superviseRun(graph, ask("and C"), thread(), options);
    expect(seen[0]?.messages).toEqual(["human: do A", "human: and B", "human: and C"]);
  });
});

describe("one driver per thread", () => {
  it("C7: refuses a second one while the first runs, and lets other threads run", async () => {
    const { options } = bench();
    let second: unknown;
    const { graph } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: async () => {
        second = await superviseRun(graph, null, thread(), options).catch((error: unknown) => error);
        return "ok";
      },
    });
    await superviseRun(graph, ask("go"), thread(), options);
    expect(LeaseHeldError.isInstance(second)).toBe(true);
    const many = scriptedAgent({ turns: Array.from({ length: 20 }, (_, i) => `answer ${i}`) });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => superviseRun(many.graph, ask(`${i}`), thread(`t${i}`), options)),
    );
    expect(new Set(results.map(({ runId }) => runId)).size).toBe(20);
    expect(results.every(({ status, attempts }) => status === "COMPLETED" && attempts === 1)).toBe(true);
  });

  it("C7: stops when its lease is taken, and leaves the record to the other", async () => {
    const { options, clock } = bench();
    const { graph, calls } = scriptedAgent({
      turns: [[{ name: "search" }], [{ name: "charge" }], "done"],
      tool: async ({ name }) => {
        if (name !== "search") return;
        // Asleep for a minute; another worker takes over.
        await clock.advance(60_000);
        const lease = await options.storage.leases.acquire("t", 30_000);
        const run = await options.storage.runs.current("t");
        if (run) await options.storage.runs.update("t", run, { token: lease.token });
      },
    });
    await expect(superviseRun(graph, ask("go"), thread(), options)).rejects.toMatchObject({
      code: "LEASE_LOST",
    });
    expect(calls).toEqual(["search", "charge"]);
    expect((await options.storage.leases.holder("t"))?.token).toBe(2);
  });
});

describe("what was saved is checked before anything runs", () => {
  /** A saver whose newest checkpoint cannot be decoded from now on. */
  function damage(saver: MemorySaver, damaged: string) {
    const error = () =>
      Object.assign(new SyntaxError("Unexpected end of JSON input"), { place: { checkpointId: damaged } });
    const getTuple = saver.getTuple.bind(saver);
    saver.getTuple = async (config) => {
      const tuple = await getTuple(config);
      if (tuple?.checkpoint.id === damaged) throw error();
      return tuple;
    };
    const list = saver.list.bind(saver);
    saver.list = async function* (config, options) {
      for await (const tuple of list(config, options)) {
        if (tuple.checkpoint.id === damaged) throw error();
        yield tuple;
      }
    };
  }

  async function damagedRun() {
    const saver = new MemorySaver();
    const pause = new AbortController();
    const world = bench();
    const agent = scriptedAgent({
      turns: [[{ name: "search" }], [{ name: "charge" }], "done", "done again"],
      checkpointer: saver,
      tool: ({ name }) => (name === "charge" ? void pause.abort() : undefined),
    });
    await superviseRun(agent.graph, ask("go"), thread(), { ...world.options, signal: pause.signal });
    const head = await agent.graph.getState(thread());
    const headId = head.config.configurable?.checkpoint_id as string;
    const parentId = head.parentConfig?.configurable?.checkpoint_id as string;
    damage(saver, headId);
    return { ...world, ...agent, parentId };
  }

  it("C16: a damaged head stops the run, names the sound ancestor, and nothing is written on top", async () => {
    const { graph, options, parentId, seen } = await damagedRun();
    const before = await options.storage.runs.current("t");
    const calls = seen.length;
    const result = await superviseRun(graph, ask("go"), thread(), options);
    expect(result).toMatchObject({
      status: "NEEDS_HUMAN",
      stopReason: "fatal_error",
      lastFailure: { code: "DAMAGED_HEAD" },
    });
    expect(result.lastFailure?.message).toContain(parentId);
    expect(seen).toHaveLength(calls);
    expect(await options.storage.runs.current("t")).toEqual(before);
  });

  it("C16: goes on from the ancestor only on request", async () => {
    const { graph, options, parentId, calls, events } = await damagedRun();
    const result = await superviseRun(graph, ask("go"), thread(), { ...options, onDamagedHead: "parent" });
    expect(result).toMatchObject({ status: "COMPLETED" });
    expect(calls).toEqual(["search", "charge", "charge"]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: "checkpoint.damaged", usedCheckpointId: parentId }),
    );
  });

  it("C17: state of a newer version of Longhaul is refused before any node runs", async () => {
    const ran: string[] = [];
    const graph = new StateGraph(Annotation.Root({ _longhaulRun: Annotation<unknown> }))
      .addNode("work", () => {
        ran.push("work");
        interrupt("wait");
        return {};
      })
      .addEdge(START, "work")
      .compile({ checkpointer: new MemorySaver() });
    const { options } = bench();
    await graph.invoke({ _longhaulRun: { v: 2 } }, thread());
    const result = await superviseRun(graph, null, thread(), options);
    expect(result).toMatchObject({ status: "NEEDS_HUMAN", lastFailure: { code: "DAMAGED_HEAD" } });
    expect(ran).toHaveLength(1);
  });

  it("a missing reference stops a resume and says what is missing", async () => {
    const { options } = bench();
    const pause = new AbortController();
    const { graph, seen } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: () => void pause.abort(),
    });
    await superviseRun(graph, ask("go"), thread(), { ...options, signal: pause.signal });
    const missing = ["/data/report.csv"];
    const refused = await superviseRun(graph, null, thread(), { ...options, references: [() => missing] });
    expect(refused).toMatchObject({ status: "NEEDS_HUMAN", lastFailure: { code: "MISSING_REFERENCE" } });
    expect(refused.lastFailure?.message).toContain("/data/report.csv");
    expect(seen).toHaveLength(1);
    expect(await superviseRun(graph, null, thread(), { ...options, references: [() => []] })).toMatchObject({
      status: "COMPLETED",
    });
  });
});

describe("superviseStream", () => {
  it("streams over all attempts and returns the result", async () => {
    const { options } = bench();
    const { graph } = scriptedAgent({ turns: [httpError(500), "done"] });
    const config = { ...thread(), streamMode: "updates" as const };
    const stream = superviseStream(graph, ask("go"), config, options);
    const chunks: unknown[] = [];
    let step = await stream.next();
    for (; !step.done; step = await stream.next()) chunks.push(step.value);
    expect(chunks).toHaveLength(1);
    expect(step.value).toMatchObject({ status: "COMPLETED", attempts: 2 });
  });

  it("cancels the run when the reader leaves, and it goes on later", async () => {
    const { options } = bench();
    const { graph } = scriptedAgent({ turns: [[{ name: "search" }], "done", "done"] });
    for await (const _ of superviseStream(
      graph,
      ask("go"),
      { ...thread(), streamMode: "updates" } as never,
      options,
    ))
      break;
    expect((await options.storage.runs.current("t"))?.record).toMatchObject({
      status: "PAUSED",
      stopReason: "cancelled",
    });
    expect(await options.storage.leases.holder("t")).toBeUndefined();
    expect(await superviseRun(graph, null, thread(), options)).toMatchObject({ status: "COMPLETED" });
  });
});

it("says so when run records and leases do not survive the process", async () => {
  const { options, events } = bench({ storage: memoryStorage() });
  await superviseRun(scriptedAgent({ turns: ["done"] }).graph, ask("go"), thread(), options);
  expect(events[0]).toMatchObject({ type: "recovery.degraded" });
});

it("refuses at once what cannot work", async () => {
  const { options } = bench();
  const { graph } = scriptedAgent({ turns: [new AIMessage("x")] });
  const refused = async (...args: Parameters<typeof superviseRun>) => {
    const error = await superviseRun(...args).catch((thrown: unknown) => thrown);
    expect(InvalidOptionsError.isInstance(error)).toBe(true);
    return (error as InvalidOptionsError).option;
  };
  expect(await refused(graph, null, thread(), options)).toBe("input");
  expect(await refused(graph, ask("x"), {}, options)).toBe("config.configurable.thread_id");
  expect(
    await refused(graph, ask("x"), { configurable: { thread_id: "t", checkpoint_id: "c" } }, options),
  ).toBe("config.configurable");
  expect(await refused(graph, ask("x"), thread(), { ...options, caps: { step: -1 } })).toBe("caps.step");
  expect(await refused(graph, ask("x"), thread(), { ...options, backoff: { delaysMs: [] } })).toBe(
    "backoff.delaysMs",
  );
  expect(await refused({} as never, ask("x"), thread(), options)).toBe("graph");
  const bare = new StateGraph(Annotation.Root({ a: Annotation<string> }))
    .addNode("n", () => ({}))
    .addEdge(START, "n")
    .compile();
  expect(await refused(bare, { a: "x" }, thread(), options)).toBe("graph.checkpointer");
});

it("C16: a message in the state that nothing can read ends the run as damage, by name, and not with a bare error", async () => {
  const { options } = bench();
  const { graph } = scriptedAgent({ turns: ["one"] });
  const alien = { messages: [{ role: "alien", content: 5 }] };
  for (const input of [alien, ask("go")]) {
    const result = await superviseRun(graph, input as never, thread(), options);
    expect(result).toMatchObject({ status: "NEEDS_HUMAN", lastFailure: { code: "DAMAGED_HEAD" } });
  }
});

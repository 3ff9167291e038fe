import {
  type LonghaulEvent,
  memoryStorage,
  requestStop,
  type SuperviseOptions,
  superviseRun,
} from "@longhaul/core";
import { countingIds, fakeClock } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { ask, scriptedAgent, shown, thread } from "./supervised-agent.ts";

const WATCH_MS = 2_000;

/** A world in which the driver looks for wishes when the test says so. */
function world() {
  const fake = fakeClock({ autoAdvance: true });
  const events: LonghaulEvent[] = [];
  const looks: (() => void)[] = [];
  const clock = {
    ...fake,
    now: fake.now,
    sleep: (ms: number, how?: { signal?: AbortSignal | undefined; unref?: boolean }) => {
      if (!how?.unref) return fake.sleep(ms, how);
      return new Promise<void>((resolve, reject) => {
        if (ms === WATCH_MS) looks.push(resolve);
        how.signal?.addEventListener("abort", () => reject(how.signal?.reason), { once: true });
      });
    },
  };
  const deps = { clock, newId: countingIds("run"), random: () => 0.5 };
  const storage = { ...memoryStorage(deps), survivesProcess: true };
  const options: SuperviseOptions = {
    storage,
    deps,
    drainOnSigterm: false,
    meter: false,
    watchMs: WATCH_MS,
    events: (event) => void events.push(event),
  };
  const look = async () => {
    looks.pop()?.();
    // the read of the wish
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const heard = () => events.filter(({ type }) => type === "recovery.stop-requested").length;
  return { options, storage, events, look, heard };
}

describe("stopping from outside", () => {
  it("pauses at the next boundary, and goes on with null", async () => {
    const { options, storage, look, heard } = world();
    const { graph, calls } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: async () => {
        expect(await requestStop(storage, "t", "pause")).toBe(true);
        await look();
      },
    });
    const paused = await superviseRun(graph, ask("go"), thread(), options);
    expect(paused).toMatchObject({ status: "PAUSED", stopReason: "drained" });
    expect(shown(paused.state.messages).at(-1)).toBe("tool: search done");
    expect(heard()).toBe(1);
    const done = await superviseRun(graph, null, thread(), options);
    expect(done).toMatchObject({ status: "COMPLETED" });
    expect(calls).toEqual(["search"]);
  });

  it("cancels at once: the tool's signal aborts, and the call runs again later", async () => {
    const { options, storage, look } = world();
    let asked = 0;
    const { graph, calls } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: async (_call, config) => {
        if (asked++ > 0) return "found";
        await requestStop(storage, "t", "pause");
        await requestStop(storage, "t", "cancel");
        // stands over the pause, whichever comes last
        await requestStop(storage, "t", "pause");
        await look();
        config.signal?.throwIfAborted();
        return "not reached";
      },
    });
    const cancelled = await superviseRun(graph, ask("go"), thread(), options);
    expect(cancelled).toMatchObject({ status: "PAUSED", stopReason: "cancelled" });
    const done = await superviseRun(graph, null, thread(), options);
    expect(done).toMatchObject({ status: "COMPLETED" });
    expect(shown(done.state.messages)).toContain("tool: found");
    expect(calls).toEqual(["search", "search"]);
  });

  it("reaches the worker that takes over from a dead one, before it does anything", async () => {
    const { options, storage, heard } = world();
    const { graph, calls } = scriptedAgent({
      turns: [[{ name: "search" }], "done"],
      tool: () => new Promise(() => {}),
    });
    const dying = superviseRun(graph, ask("go"), thread(), options);
    dying.catch(() => {});
    while (calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await requestStop(storage, "t", "pause")).toBe(true);
    await storage.records.delete({ collection: "leases", thread: "t", key: "run" });
    const { status, stopReason } = await superviseRun(graph, ask("go"), thread(), options);
    expect({ status, stopReason }).toEqual({ status: "PAUSED", stopReason: "drained" });
    expect(calls).toHaveLength(1);
    expect(heard()).toBe(1);
  });

  it("says so when nothing is under way, and a wish of an earlier run stops no later one", async () => {
    const { options, storage, heard } = world();
    expect(await requestStop(storage, "t", "cancel")).toBe(false);
    const { graph } = scriptedAgent({
      turns: [[{ name: "search" }], "first", "second"],
      // heard by nobody: the run ends before the next look
      tool: () => requestStop(storage, "t", "cancel"),
    });
    const first = await superviseRun(graph, ask("go"), thread(), options);
    expect(first.status).toBe("COMPLETED");
    expect(await requestStop(storage, "t", "cancel")).toBe(false);
    expect(await superviseRun(graph, ask("and on"), thread(), options)).toMatchObject({
      status: "COMPLETED",
    });
    expect(heard()).toBe(0);
  });
});

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MemorySaver } from "@langchain/langgraph";
import { type Json, MemoryRecordStore } from "@longhaul/core";
import { CRASH_VARIABLE, CrashPoints, parseCrashPlan, ToolWorld, TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "crash-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("crash points kill a process", () => {
  it.each([
    ["K1:charge", 0, ""],
    ["K2", 0, ""],
    ["K3:charge:1", 1, "claimed done "],
    ["K4", 1, "claimed done "],
    ["K5", 1, "claimed done committed "],
    ["K3:other", 1, "claimed done committed end"],
    ["K3:charge:2", 1, "claimed done committed end"],
    ["", 1, "claimed done committed end"],
  ])("%s", (plan, effects, log) => {
    const name = plan.replaceAll(":", "-");
    const files = [join(folder, `${name}.db`), join(folder, `${name}.log`)] as const;
    const fixture = fileURLToPath(new URL("./fixtures/dying-agent.ts", import.meta.url));
    const { signal, status, stderr } = spawnSync(process.execPath, [...TYPESCRIPT_ARGS, fixture, ...files], {
      env: { ...process.env, [CRASH_VARIABLE]: plan },
    });
    const dies = !log.endsWith("end");
    expect({ signal, status, stderr: String(stderr) }).toEqual({
      signal: dies ? "SIGKILL" : null,
      status: dies ? null : 0,
      stderr: "",
    });
    expect(existsSync(files[1]) ? readFileSync(files[1], "utf8") : "").toBe(log);
    const world = ToolWorld.open(files[0]);
    expect(world.effects().done).toBe(effects);
    world.close();
  });
});

class Died extends Error {}
const die = () => {
  throw new Died();
};
const key = (id: string) => ({ collection: "effects", thread: "t", key: id });
const write = (tool: string, state: string): Json => ({ tool, state });

describe("CrashPoints in process", () => {
  it("takes a heartbeat for no new claim, a lost race for no arrival, other collections for nothing", async () => {
    const store = new MemoryRecordStore();
    const records = new CrashPoints({ at: "K2", nth: 2 }, { crash: die }).records(store);
    await records.compareAndSet(key("a"), null, write("t", "claimed"));
    await records.compareAndSet(key("a"), 1, write("t", "claimed"));
    expect((await records.compareAndSet(key("a"), null, write("t", "claimed"))).ok).toBe(false);
    await records.compareAndSet({ ...key("b"), collection: "runs" }, null, write("t", "claimed"));
    await expect(records.compareAndSet(key("b"), null, write("t", "claimed"))).rejects.toThrow(Died);
    expect((await store.get(key("b")))?.value).toEqual(write("t", "claimed"));
  });

  it("leaves the record unwritten at K1 and K3", async () => {
    const store = new MemoryRecordStore();
    const at = (point: "K1" | "K3") =>
      new CrashPoints({ at: point, tool: "t" }, { crash: die }).records(store);
    await expect(at("K1").compareAndSet(key("a"), null, write("t", "claimed"))).rejects.toThrow(Died);
    expect(await store.get(key("a"))).toBeUndefined();
    await at("K3").compareAndSet(key("a"), null, write("t", "claimed"));
    await expect(at("K3").compareAndSet(key("a"), 1, write("t", "committed"))).rejects.toThrow(Died);
    expect((await store.get(key("a")))?.value).toEqual(write("t", "claimed"));
  });

  it("the saver stays what it was", async () => {
    const inner = new MemorySaver();
    const saver = new CrashPoints(undefined).saver(inner);
    expect(saver).toBeInstanceOf(MemorySaver);
    expect(await saver.getTuple({ configurable: { thread_id: "t" } })).toBeUndefined();
  });

  it("reads plans from text and refuses others", () => {
    expect(parseCrashPlan("K3")).toEqual({ at: "K3", tool: undefined, nth: 1 });
    expect(parseCrashPlan("K4:send_mail:3")).toEqual({ at: "K4", tool: "send_mail", nth: 3 });
    expect(parseCrashPlan("K5:*:2")).toEqual({ at: "K5", tool: undefined, nth: 2 });
    for (const text of ["K6", "K3:", "K3:a:0", "charge"])
      expect(() => parseCrashPlan(text)).toThrow(RangeError);
  });
});

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";

const CHILD = fileURLToPath(new URL("./supervised-child.ts", import.meta.url));

let folder = "";
let children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "supervise-"));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

interface Told {
  readonly status?: string;
  readonly stopReason?: string;
  readonly attempts?: number;
  readonly lastFailure?: { readonly code: string };
  readonly messages?: readonly string[];
  readonly refused?: string;
}

function start(plan: string): ChildProcess {
  const args = [join(folder, "agent.db"), join(folder, "world.log"), plan];
  const child = fork(CHILD, args, {
    execArgv: [...TYPESCRIPT_ARGS],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.push(child);
  return child;
}

/** Runs a process to its end: what it told, or the signal that ended it. */
async function run(plan = "never"): Promise<Told & { readonly signal?: string }> {
  const child = start(plan);
  let told: Told = {};
  child.on("message", (message) => {
    told = message as Told;
  });
  const [, signal] = (await once(child, "exit")) as [number | null, string | null];
  return { ...told, ...(signal ? { signal } : {}) };
}

const EXPECTED = [
  "human: go",
  ...[1, 2, 3, 4].flatMap((step) => ["ai: ", `tool: search ${step} ok`, `tool: charge ${step} ok`]),
  "ai: done",
];

function world(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const point of readFileSync(join(folder, "world.log"), "utf8").trim().split("\n")) {
    counts.set(point, (counts.get(point) ?? 0) + 1);
  }
  return counts;
}

it("D1: an agent killed three times at different points ends as if it had never been", {
  timeout: 120_000,
}, async () => {
  const plans = ["die charge 1", "die put 3", "die stored 3"];
  for (const plan of plans) expect(await run(plan), plan).toEqual({ signal: "SIGKILL" });
  const last = await run();
  expect(last).toMatchObject({
    status: "COMPLETED",
    stopReason: "final_answer",
    lastFailure: { code: "CRASH" },
  });
  expect(last.messages).toEqual(EXPECTED);
  const counts = world();
  // Each death cut one step; what had been stored before it was not done again.
  const calls = [...counts].filter(([point]) => /^(search|charge) /.test(point));
  expect(calls.length).toBe(8);
  expect(calls.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(8 + 2 * plans.length);
  expect(counts.get("search 4")).toBe(1);
  expect(counts.get("charge 4")).toBe(1);
});

it("goes on where SIGTERM stopped it, and does nothing twice", { timeout: 120_000 }, async () => {
  expect(await run("term charge 2")).toMatchObject({ status: "PAUSED", stopReason: "drained", attempts: 1 });
  const done = await run();
  expect(done).toMatchObject({ status: "COMPLETED", attempts: 2 });
  expect(done.lastFailure).toBeUndefined();
  expect(done.messages).toEqual(EXPECTED);
  const calls = [...world()].filter(([point]) => /^(search|charge|model) /.test(point));
  expect(calls.map(([, count]) => count)).toEqual(calls.map(() => 1));
});

it("C7: a second process is refused while the first lives, and takes over at once when it is dead", {
  timeout: 120_000,
}, async () => {
  const first = start("hang charge 2");
  await once(first, "message");
  expect(await run()).toEqual({ refused: "LEASE_HELD" });
  const gone = once(first, "exit");
  first.kill("SIGKILL");
  await gone;
  expect(await run()).toMatchObject({ status: "COMPLETED", attempts: 2, lastFailure: { code: "CRASH" } });
});

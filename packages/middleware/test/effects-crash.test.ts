import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CrashPoint, ToolWorld, TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const child = fileURLToPath(new URL("./effects-child.ts", import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "longhaul-effects-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function live(durability: string, crashAt?: string) {
  const life = spawnSync(process.execPath, [...TYPESCRIPT_ARGS, child, folder, durability], {
    env: { ...process.env, CRASH_AT: crashAt ?? "" },
    encoding: "utf8",
  });
  return { signal: life.signal, stdout: life.stdout, stderr: life.stderr };
}

function effects() {
  const world = ToolWorld.open(join(folder, "world.db"));
  return Object.fromEntries(world.effects().byBusiness.map(({ tool, done }) => [tool, done]));
}

const deaths: [durability: string, at: CrashPoint, tool: string][] = [
  ["sync", "K1", "record"],
  ["sync", "K2", "record"],
  ["sync", "K3", "record"],
  ["sync", "K4", "record"],
  ["sync", "K5", "record"],
  ["sync", "K3", "query"],
  ["sync", "K3", "key"],
  ["exit", "K3", "record"],
  ["exit", "K4", "record"],
];

describe("effects over real deaths of the process", () => {
  it.each(deaths)(
    "D1, durability %s, %s of %s: nothing happens twice, and each call is answered",
    {
      timeout: 60_000,
    },
    (durability, point, tool) => {
      const first = live(durability, `${point}:${tool}`);
      expect(first.signal, first.stderr).toBe("SIGKILL");
      const second = live(durability);
      expect(second.stderr).toBe("");
      const answers = Object.fromEntries(JSON.parse(second.stdout) as [string, string][]);
      const done = effects();
      for (const count of Object.values(done)) expect(count).toBe(1);
      expect(answers.read).toBe("price of O-7");
      expect(answers.key).toContain("key 1");
      expect(answers.query).toContain("query 1");
      if (tool === "record") {
        const unknown = point === "K2" || point === "K3";
        expect(answers.record).toContain(unknown ? "unknown" : "record 1");
        expect(done.record).toBe(point === "K2" ? undefined : 1);
      }
    },
  );
});

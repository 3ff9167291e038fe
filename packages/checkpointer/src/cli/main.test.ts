import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { CompactSaver } from "../compact-saver.ts";
import { main } from "./main.ts";

async function file(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "agent.db");
  const saver = CompactSaver.fromConnString(path);
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(0),
    channel_values: { log: ["x"] },
    channel_versions: { log: "1" },
  };
  await saver.put(
    { configurable: { thread_id: "t" } },
    checkpoint,
    { source: "input", step: -1, parents: {} },
    { log: "1" },
  );
  await saver.end();
  return path;
}

async function cli(...args: string[]) {
  const lines: string[] = [];
  const errors: string[] = [];
  const code = await main(args, { out: (line) => lines.push(line), error: (line) => errors.push(line) });
  return { code, out: lines.join("\n"), errors: errors.join("\n") };
}

describe("longhaul", () => {
  it("lists threads, checkpoints and sizes, as lines and as JSON", async () => {
    const path = await file();
    expect(await cli("threads", path)).toMatchObject({
      code: 0,
      out: expect.stringContaining("threadId=t  checkpoints=1"),
    });
    expect(JSON.parse((await cli("show", path, "t", "--json")).out)).toMatchObject([
      { source: "input", step: -1, channels: "log", pendingWrites: 0 },
    ]);
    expect(JSON.parse((await cli("stats", path, "--json")).out)).toMatchObject([
      { checkpoints: 1, values: 1 },
    ]);
  });

  it("verify ends with 1 when something is wrong", async () => {
    const path = await file();
    expect(await cli("verify", path)).toMatchObject({ code: 0, out: expect.stringContaining("ok=true") });
    const database = new Database(path);
    database.exec("UPDATE channel_values SET data = x'00'");
    database.close();
    expect(await cli("verify", path)).toMatchObject({ code: 1, out: expect.stringContaining("channel=log") });
  });

  it("creates nothing, and says what is wrong with a call", async () => {
    const path = await file();
    const missing = join(path, "..", "missing.db");
    expect(await cli("threads", missing)).toMatchObject({
      code: 1,
      errors: expect.stringContaining("no such file"),
    });
    expect(readdirSync(join(path, "..")).includes("missing.db")).toBe(false);
    expect((await cli("threads")).code).toBe(2);
    expect((await cli("dance", path)).code).toBe(2);
    expect((await cli("show", path, "--limit", "x")).code).toBe(2);
    expect((await cli("--help")).code).toBe(0);
  });
});

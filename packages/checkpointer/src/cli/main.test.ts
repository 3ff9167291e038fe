import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { CompactSaver } from "../compact-saver.ts";
import { main } from "./main.ts";

const meta = { source: "input" as const, step: -1, parents: {} };

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "longhaul-cli-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

async function fill(target: string, options = {}): Promise<string> {
  const saver = CompactSaver.fromConnString(target, options);
  let config: Awaited<ReturnType<typeof saver.put>> = { configurable: { thread_id: "t" } };
  for (let n = 0; n < 3; n++) {
    const version = saver.getNextVersion(undefined);
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(n),
      channel_values: { log: ["日本語", n] },
      channel_versions: { log: version },
    };
    config = await saver.put(config, checkpoint, { ...meta, step: n - 1 }, { log: version });
  }
  await saver.end();
  return target;
}

async function cli(args: readonly string[], env: Record<string, string> = {}) {
  const lines: string[] = [];
  const errors: string[] = [];
  let time = 0;
  const code = await main(args, {
    out: (line) => lines.push(line),
    error: (line) => errors.push(line),
    raw: (text) => errors.push(text),
    isTerminal: false,
    width: 100,
    // each look at the clock is a minute later
    now: () => (time += 60_000),
    env: (name) => env[name],
  });
  return { code, out: lines.join("\n"), errors: errors.join("\n") };
}

describe.each([
  ["SQLite", () => join(folder(), "agent.db")],
  ["files", () => `file:${join(folder(), "threads")}`],
])("longhaul on %s", (_name, make) => {
  it("lists threads, checkpoints, one checkpoint's values and sizes, as tables and as JSON", async () => {
    const target = await fill(make());
    const threads = await cli(["threads", target]);
    expect(threads).toMatchObject({ code: 0, errors: "" });
    expect(threads.out.split("\n")[0]).toMatch(/^thread {2}checkpoints {2}latest/);
    expect(threads.out.split("\n")[1]).toMatch(/^t {17}3 {2}/);
    const shown = JSON.parse((await cli(["show", target, "t", "--json", "--limit", "2"])).out);
    expect(shown).toMatchObject([{ step: 1, channels: "log" }, { step: 0 }]);
    expect((await cli(["show", target, "t", "--checkpoint", shown[0].checkpoint])).out).toContain(
      '["日本語",2]',
    );
    expect((await cli(["show", target, "t", "--checkpoint", "none"])).code).toBe(1);
    expect(JSON.parse((await cli(["stats", target, "--json"])).out)).toMatchObject([
      { checkpoints: 3, values: 3 },
    ]);
    expect(await cli(["verify", target])).toMatchObject({ code: 0, out: expect.stringContaining("true") });
  });

  it("prunes, also only to say what would go", async () => {
    const target = await fill(make());
    const dry = JSON.parse(
      (await cli(["prune", target, "t", "--keep-last", "1", "--dry-run", "--json"])).out,
    );
    expect(dry).toEqual([{ thread: "t", kept: 1, removed: 2, values: 2, chunks: 0, records: 0 }]);
    expect(JSON.parse((await cli(["threads", target, "--json"])).out)[0].checkpoints).toBe(3);
    const done = await cli(["prune", target, "--all", "--keep-last", "1", "--json"]);
    expect([JSON.parse(done.out), done.errors]).toEqual([dry, "0 of 1 threads pruned"]);
    expect(JSON.parse((await cli(["threads", target, "--json"])).out)[0].checkpoints).toBe(1);
    for (const wrong of [["--keep-last", "0"], ["--max-age", "soon"], ["--no-milestones"], ["--all"]])
      expect((await cli(["prune", target, "t", ...wrong])).code).toBe(2);
  });

  it("exports and imports, and migrates from one target to another", async () => {
    const target = await fill(make());
    const file = join(folder(), "t.jsonl");
    expect((await cli(["export", target, "t", "--out", file])).code).toBe(0);
    expect((await cli(["export", target, "t"])).out).toBe(readFileSync(file, "utf8").trimEnd());
    expect(await cli(["export", target, "t", "--out", file])).toMatchObject({
      code: 3,
      errors: expect.stringContaining("EEXIST"),
    });
    expect(await cli(["export", target, "none"])).toMatchObject({ code: 1 });
    const other = make();
    expect(await cli(["import", other, file])).toMatchObject({ code: 0, errors: "" });
    expect(await cli(["import", other, file])).toMatchObject({ code: 1 });
    expect(await cli(["import", other, file, "--thread", "u"])).toMatchObject({ code: 0 });
    const third = make();
    expect(JSON.parse((await cli(["migrate", other, third, "--json"])).out)).toEqual([{ threads: 2 }]);
    expect(JSON.parse((await cli(["threads", third, "--json"])).out).length).toBe(2);
    expect((await cli(["verify", third])).code).toBe(0);
  });

  it("creates nothing when it looks, and says what is wrong with a call", async () => {
    const root = folder();
    for (const missing of [join(root, "missing.db"), `file:${join(root, "missing")}`])
      expect(await cli(["threads", missing])).toMatchObject({
        code: 3,
        errors: expect.stringContaining("there is no such"),
      });
    expect(readdirSync(root)).toEqual([]);
    const target = await fill(make());
    for (const wrong of [
      [],
      ["threads"],
      ["dance", target],
      ["show", target, "--limit", "x"],
      ["threads", target, "--limit", "1"],
      ["threads", target, "--odd"],
    ])
      expect((await cli(wrong)).code).toBe(2);
    expect((await cli(["--help"])).out).toContain("prune <target>");
    expect(await cli(["prune", "--help"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("--keep-last"),
    });
  });

  it("reads encrypted storage with a key from the environment or a file, and never prints it", async () => {
    const key = Buffer.alloc(32, 5);
    const target = await fill(make(), { encryptionKey: key });
    expect(await cli(["verify", target])).toMatchObject({
      code: 3,
      errors: expect.stringContaining("encryptionKey"),
    });
    expect((await cli(["verify", target, "--key-env", "KEY"], { KEY: key.toString("hex") })).code).toBe(0);
    const file = join(folder(), "key");
    writeFileSync(file, key.toString("base64"));
    const shown = await cli(["show", target, "t", "--key-file", file]);
    expect([shown.code, shown.out.includes(key.toString("base64"))]).toEqual([0, false]);
    expect((await cli(["verify", target, "--key-env", "NONE"])).code).toBe(2);
  });
});

describe("longhaul", () => {
  it("verify ends with 1 when something is wrong, and names it", async () => {
    const path = await fill(join(folder(), "agent.db"));
    const database = new Database(path);
    database.exec("UPDATE channel_values SET data = x'00'");
    database.close();
    const result = await cli(["verify", path, "--json"]);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.out)[0]).toMatchObject({ kind: "damaged", threadId: "t", channel: "log" });
  });

  it("migrates the database of an official saver", async () => {
    const theirs = join(folder(), "theirs.db");
    const source = SqliteSaver.fromConnString(theirs);
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(1),
      channel_values: { log: ["x"] },
      channel_versions: { log: 1 },
    };
    await source.put({ configurable: { thread_id: "t", checkpoint_ns: "" } }, checkpoint, meta);
    source.db.close();
    const target = join(folder(), "ours.db");
    const result = await cli(["migrate", `sqlite-saver:${theirs}`, target, "--json"]);
    expect(JSON.parse(result.out)).toMatchObject([{ threads: 1, checkpoints: 1 }]);
    expect(result.errors).toContain("t: 1 of 1 checkpoints");
    expect((await cli(["verify", target])).code).toBe(0);
  });
});

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
    expect(await cli(["show", target, "t", "--checkpoint", "none"])).toMatchObject({ code: 1, out: "" });
    for (const command of ["show", "stats", "verify", "export", "prune"])
      expect(await cli([command, target, "misspelt"])).toMatchObject({
        code: 1,
        out: "",
        errors: expect.stringContaining('Thread "misspelt" has no checkpoint'),
      });
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
    expect(await cli(["import", other, file])).toMatchObject({ code: 0, errors: "", out: "thread\nt" });
    expect(await cli(["import", other, file])).toMatchObject({ code: 1 });
    expect(await cli(["import", other, file, "--thread", "u"])).toMatchObject({ code: 0 });
    const third = make();
    expect(JSON.parse((await cli(["migrate", other, third, "--json"])).out)).toEqual([{ threads: 2 }]);
    expect(JSON.parse((await cli(["threads", third, "--json"])).out).length).toBe(2);
    expect((await cli(["verify", third])).code).toBe(0);
  });

  it("leaves nothing of an import that failed, and says when there is nothing", async () => {
    const target = await fill(make());
    const root = folder();
    const file = join(root, "t.jsonl");
    await cli(["export", target, "t", "--out", file]);
    const cut = join(root, "cut.jsonl");
    writeFileSync(cut, readFileSync(file, "utf8").slice(0, -40));
    for (const bad of [cut, join(root, "missing.jsonl")]) {
      const other = target.startsWith("file:") ? `file:${join(root, "new")}` : join(root, "new.db");
      expect((await cli(["import", other, bad])).code).not.toBe(0);
      expect(readdirSync(root).sort()).toEqual(["cut.jsonl", "t.jsonl"]);
    }
    // one that was there before stays
    expect((await cli(["import", target, cut, "--thread", "u"])).code).toBe(1);
    expect(JSON.parse((await cli(["threads", target, "--json"])).out).length).toBe(1);
    const saver = CompactSaver.fromConnString(target);
    await saver.deleteThread("t");
    await saver.end();
    expect(await cli(["threads", target])).toEqual({ code: 0, out: "", errors: "there is nothing" });
    expect(JSON.parse((await cli(["threads", target, "--json"])).out)).toEqual([]);
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
  it("knows several keys by their ids, and rows from before the key when told so", async () => {
    const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const target = join(folder(), "agent.db");
    const keys = (id: string) => (id === "1" ? old : next);
    await fill(target, { encryptionKey: keys });
    await fill(target, { encryptionKey: keys, encryptionKeyId: "2" }).catch(() => undefined);
    const saver = CompactSaver.fromConnString(target, { encryptionKey: keys, encryptionKeyId: "2" });
    await saver.artifacts.put("t", "text", { kind: "k", label: "l" });
    await saver.end();
    const env = { OLD: old.toString("hex"), NEXT: next.toString("hex") };
    expect((await cli(["verify", target, "--key-env", "OLD"], env)).code).not.toBe(0);
    expect((await cli(["verify", target, "--key-env", "2=NEXT", "--key-env", "1=OLD"], env)).code).toBe(0);
    for (const wrong of [
      ["OLD", "NEXT"],
      ["1=OLD", "1=NEXT"],
      ["1=OLD", "NEXT"],
    ])
      expect((await cli(["verify", target, ...wrong.flatMap((key) => ["--key-env", key])], env)).code).toBe(
        2,
      );
    const plain = await fill(join(folder(), "plain.db"));
    expect((await cli(["verify", plain, "--key-env", "OLD"], env)).code).not.toBe(0);
    expect((await cli(["verify", plain, "--key-env", "OLD", "--accept-plaintext"], env)).code).toBe(0);
  });

  it("of a folder with one damaged thread shows and prunes the others, and ends with 1", async () => {
    const root = join(folder(), "threads");
    const saver = CompactSaver.fromConnString(`file:${root}`);
    for (const thread_id of ["a", "b", "c"]) {
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(0),
        channel_values: { log: [1] },
        channel_versions: { log: 1 },
      };
      await saver.put({ configurable: { thread_id } }, checkpoint, meta, { log: "1" });
    }
    await saver.end();
    const journal = join(
      root,
      readdirSync(root).find((name) => name.startsWith("b")) as string,
      "journal.jsonl",
    );
    writeFileSync(journal, readFileSync(journal, "utf8").replace(/"op":"commit"/, '"op":"commiT"'));
    const threads = await cli(["threads", `file:${root}`]);
    expect(threads).toMatchObject({ code: 1, errors: expect.stringContaining("journal.jsonl") });
    expect(threads.out.split("\n").map((line) => line[0])).toEqual(["t", "a", "c"]);
    const pruned = await cli(["prune", `file:${root}`, "--all", "--json"]);
    expect(pruned).toMatchObject({ code: 1, errors: expect.stringContaining("journal.jsonl") });
    expect(JSON.parse(pruned.out).map((row: { thread: string }) => row.thread)).toEqual(["a", "c"]);
  });

  it("takes no folder of other files for an empty storage", async () => {
    const root = folder();
    writeFileSync(join(root, "main.ts"), "");
    for (const command of ["threads", "import"])
      expect(
        await cli([command, `file:${root}`, ...(command === "import" ? [join(root, "main.ts")] : [])]),
      ).toMatchObject({
        code: command === "import" ? 1 : 3,
      });
    expect(readdirSync(root)).toEqual(["main.ts"]);
  });

  it("says its version and its commands", async () => {
    expect((await cli(["--version"])).out).toMatch(/^\d+\.\d+\.\d+/);
    for (const args of [["help"], ["--help"]]) expect((await cli(args)).out).toContain("migrate <from> <to>");
  });

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
    const missing = join(folder(), "missing.db");
    for (const from of [`sqlite-saver:${missing}`, missing])
      expect(await cli(["migrate", from, join(folder(), "new.db")])).toMatchObject({
        code: 3,
        errors: expect.stringContaining("there is no such file"),
      });
    expect(existsSync(missing)).toBe(false);
  });
});

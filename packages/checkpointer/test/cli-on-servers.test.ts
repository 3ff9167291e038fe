import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { expect, it, onTestFinished } from "vitest";
import { main } from "../src/cli/main.ts";
import { describePostgres, describeRedis, postgresSchema, REDIS_URL, redisPrefix } from "./servers.ts";

async function cli(...args: string[]) {
  const lines: string[] = [];
  const code = await main(args, {
    out: (line) => lines.push(line),
    error: () => {},
    raw: () => {},
    isTerminal: false,
    width: 200,
    now: () => 0,
    env: () => undefined,
  });
  return { code, out: lines.join("\n") };
}

/** Every command but `migrate` from an official saver, which migrate.test.ts has. */
function cliTests(target: string, saver: () => CompactSaver, ...options: string[]): void {
  it("does the same there as on a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "longhaul-cli-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const filled = saver();
    let config: Awaited<ReturnType<typeof filled.put>> = { configurable: { thread_id: "t" } };
    for (let n = 0; n < 3; n++) {
      const log = filled.getNextVersion(undefined);
      const values = { channel_values: { log: [`step ${n}`] }, channel_versions: { log } };
      const meta = { source: "loop" as const, step: n, parents: {} };
      config = await filled.put(config, { ...emptyCheckpoint(), id: uuid6(n), ...values }, meta, { log });
    }
    await filled.end();
    const json = async (command: string, ...args: string[]) => {
      const { code, out } = await cli(command, target, ...args, ...options, "--json");
      return { code, rows: JSON.parse(out) as unknown[] };
    };
    expect(await json("threads")).toMatchObject({ code: 0, rows: [{ thread: "t", checkpoints: 3 }] });
    expect(await json("show", "t", "--limit", "1")).toMatchObject({
      code: 0,
      rows: [{ step: 2, channels: "log" }],
    });
    expect(await json("stats")).toMatchObject({ code: 0, rows: [{ checkpoints: 3, values: 3 }] });
    const file = join(folder, "t.jsonl");
    expect((await json("export", "t", "--out", file)).code).toBe(0);
    expect(await json("import", file, "--thread", "u")).toMatchObject({ code: 0, rows: [{ thread: "u" }] });
    expect((await cli("import", target, file, ...options)).code).toBe(1);
    expect(await json("prune", "t", "--keep-last", "1")).toMatchObject({
      code: 0,
      rows: [{ kept: 1, removed: 2 }],
    });
    expect(await json("verify")).toMatchObject({ code: 0, rows: [{ ok: true, checkpoints: 4 }] });
    const moved = join(folder, "moved.db");
    expect((await cli("migrate", target, moved, ...options)).code).toBe(0);
    expect(JSON.parse((await cli("threads", moved, "--json")).out)).toMatchObject([
      { thread: "t", checkpoints: 1 },
      { thread: "u", checkpoints: 3 },
    ]);
    expect((await cli("stats", target, "none", ...options)).code).toBe(1);
  });
}

const { url } = postgresSchema("cli");
describePostgres("longhaul on Postgres", () => cliTests(url, () => CompactSaver.fromConnString(url)));

const keyPrefix = redisPrefix("cli");
describeRedis("longhaul on Redis", () =>
  cliTests(
    REDIS_URL,
    () => CompactSaver.fromConnString(REDIS_URL, { redis: { keyPrefix } }),
    "--redis-prefix",
    keyPrefix,
  ),
);

/**
 * A first comparison of CompactSaver with SqliteSaver: an agent of STEPS tool turns of about 2,000 tokens with parallel calls, through
 * `createAgent`, on files. Prints bytes on disk after closing, time spent in put and putWrites, and the ratios.
 *
 * npx tsx bench/saver-quick.ts [steps]
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { CompactSaver } from "@longhaul/checkpointer";
import { createAgent } from "langchain";
import { z } from "zod";

const STEPS = Number(process.argv[2] ?? 150);
const CALLS = 3;

/** Text that packs about as well as source code and prose do: words of a fixed list in an order of their own. */
const WORDS =
  "the agent reads file config and writes result to path src index function returns error when value is missing from table because user asked for report about orders shipped between dates while cache holds stale entries of session token number total amount invoice customer region status pending retry limit exceeded connection refused timeout after seconds import export const async await promise resolve reject string boolean number object array undefined".split(
    " ",
  );
function prose(seed: number, words: number): string {
  let state = (seed * 2654435761) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  const out: string[] = [];
  for (let i = 0; i < words; i++) out.push(next() % 9 === 0 ? (next() % 100_000).toString(36) : (WORDS[next() % WORDS.length] as string));
  return out.join(" ");
}

class Scripted extends BaseChatModel {
  turn = 0;
  _llmType(): string {
    return "scripted";
  }
  override bindTools(): this {
    return this;
  }
  async _generate(_messages: BaseMessage[]) {
    const turn = this.turn++;
    const isLast = turn >= STEPS;
    const message = new AIMessage({
      id: `msg-${turn.toString(16).padStart(24, "0")}`,
      content: prose(turn + 1, 60),
      tool_calls: isLast
        ? []
        : Array.from({ length: CALLS }, (_, i) => ({
            name: "look",
            args: { seed: turn * 10 + i, path: `/repo/src/${prose(turn * 7 + i, 2).replaceAll(" ", "/")}.ts` },
            id: `call_${turn}_${i}`,
            type: "tool_call" as const,
          })),
      usage_metadata: { input_tokens: 1000 + turn * 2000, output_tokens: 120, total_tokens: 1120 + turn * 2000 },
      response_metadata: { model_provider: "openai", model_name: "gpt-4o-mini", finish_reason: isLast ? "stop" : "tool_calls" },
    });
    return { generations: [{ text: "", message }] };
  }
}

const look = tool(async ({ seed }: { seed: number; path: string }) => prose(seed + 1_000_000, 430), {
  name: "look",
  description: "Reads something.",
  schema: z.object({ seed: z.number(), path: z.string() }),
});

async function run(name: string, dir: string, saver: BaseCheckpointSaver) {
  const times: number[] = [];
  for (const method of ["put", "putWrites"] as const) {
    const original = saver[method].bind(saver) as (...args: unknown[]) => Promise<unknown>;
    Object.assign(saver, {
      [method]: async (...args: unknown[]) => {
        const start = performance.now();
        try {
          return await original(...args);
        } finally {
          times.push(performance.now() - start);
        }
      },
    });
  }
  const agent = createAgent({ model: new Scripted({}), tools: [look], checkpointer: saver });
  const start = performance.now();
  const config = { configurable: { thread_id: "t" }, recursionLimit: 10_000, durability: "sync" as const };
  const result = await agent.invoke({ messages: [{ role: "user", content: "Go." }] }, config);
  const wall = performance.now() - start;
  const loadStart = performance.now();
  await saver.getTuple({ configurable: { thread_id: "t" } });
  const load = performance.now() - loadStart;
  if (saver instanceof CompactSaver) {
    console.log(JSON.stringify(await saver.stats()));
    await saver.end();
  } else (saver as SqliteSaver).db.close();
  const bytes = readdirSync(dir).reduce((sum, file) => sum + statSync(join(dir, file)).size, 0);
  const total = times.reduce((sum, time) => sum + time, 0);
  const sorted = times.sort((a, b) => a - b);
  console.log(
    `${name.padEnd(14)} ${result.messages.length} messages, ${(bytes / 1e6).toFixed(2)} MB, wall ${(wall / 1e3).toFixed(1)} s, ` +
      `put total ${total.toFixed(0)} ms, p50 ${sorted[sorted.length >> 1]?.toFixed(2)} ms, max ${sorted.at(-1)?.toFixed(1)} ms, load ${load.toFixed(1)} ms`,
  );
  return { bytes, total };
}

const root = mkdtempSync(join(tmpdir(), "longhaul-bench-"));
const folders = { compact: mkdtempSync(join(root, "c-")), sqlite: mkdtempSync(join(root, "s-")) };
const compact = await run(
  "CompactSaver",
  folders.compact,
  CompactSaver.fromConnString(join(folders.compact, "x.db")) as unknown as BaseCheckpointSaver,
);
const sqlite = await run("SqliteSaver", folders.sqlite, SqliteSaver.fromConnString(join(folders.sqlite, "x.db")));
console.log(
  `bytes 1/${(sqlite.bytes / compact.bytes).toFixed(0)}, put time 1/${(sqlite.total / compact.total).toFixed(1)}`,
);
rmSync(root, { recursive: true });

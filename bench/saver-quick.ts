/**
 * A first comparison of CompactSaver with SqliteSaver. An agent of STEPS tool turns of about 2,000 tokens with three parallel calls runs once
 * through `createAgent`; its calls of put and putWrites are recorded and replayed on a file of each saver, one after another, so that the times
 * are the savers' own. Prints bytes on disk after closing, times, and the ratios.
 *
 * npx tsx bench/saver-quick.ts [steps]
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type AIMessageFields, type BaseMessage } from "@langchain/core/messages";
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
  for (let i = 0; i < words; i++)
    out.push(next() % 9 === 0 ? (next() % 100_000).toString(36) : (WORDS[next() % WORDS.length] as string));
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
    const usage_metadata = {
      input_tokens: 1000 + turn * 2000,
      output_tokens: 120,
      total_tokens: 1120 + turn * 2000,
    };
    const fields = {
      id: `msg-${turn.toString(16).padStart(24, "0")}`,
      content: prose(turn + 1, 60),
      tool_calls: isLast
        ? []
        : Array.from({ length: CALLS }, (_, i) => ({
            name: "look",
            args: {
              seed: turn * 10 + i,
              path: `/repo/src/${prose(turn * 7 + i, 2).replaceAll(" ", "/")}.ts`,
            },
            id: `call_${turn}_${i}`,
            type: "tool_call" as const,
          })),
      usage_metadata,
      response_metadata: {
        model_provider: "openai",
        model_name: "gpt-4o-mini",
        finish_reason: isLast ? "stop" : "tool_calls",
      },
    };
    // the fields' type wants a tool set that a script has not
    const message = new AIMessage(fields as unknown as AIMessageFields);
    return { generations: [{ text: "", message }] };
  }
}

const look = tool(async ({ seed }: { seed: number; path: string }) => prose(seed + 1_000_000, 430), {
  name: "look",
  description: "Reads something.",
  schema: z.object({ seed: z.number(), path: z.string() }),
});

type Call = (saver: BaseCheckpointSaver) => Promise<unknown>;

/** The calls that the agent's run makes. Arguments are kept by reference, as a saver gets them. */
async function record(): Promise<Call[]> {
  const calls: Call[] = [];
  const saver = CompactSaver.fromConnString(":memory:");
  const put = saver.put.bind(saver);
  const putWrites = saver.putWrites.bind(saver);
  saver.put = (...args) => {
    calls.push((target) => target.put(...args));
    return put(...args);
  };
  saver.putWrites = (...args) => {
    calls.push((target) => target.putWrites(...args));
    return putWrites(...args);
  };
  const agent = createAgent({ model: new Scripted({}), tools: [look], checkpointer: saver });
  const config = { configurable: { thread_id: "t" }, recursionLimit: 10_000, durability: "sync" as const };
  const result = await agent.invoke({ messages: [{ role: "user", content: "Go." }] }, config);
  console.log(`${STEPS} steps: ${result.messages.length} messages, ${calls.length} calls`);
  await saver.end();
  return calls;
}

async function replay(name: string, calls: readonly Call[], open: (path: string) => BaseCheckpointSaver) {
  const dir = mkdtempSync(join(tmpdir(), "longhaul-bench-"));
  const saver = open(join(dir, "x.db"));
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (const call of calls) {
    const start = performance.now();
    await call(saver);
    times.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(cpu);
  await close(saver);
  const bytes = readdirSync(dir).reduce((sum, file) => sum + statSync(join(dir, file)).size, 0);
  const reopened = open(join(dir, "x.db"));
  const loadStart = performance.now();
  await reopened.getTuple({ configurable: { thread_id: "t" } });
  const load = performance.now() - loadStart;
  await close(reopened);
  rmSync(dir, { recursive: true });
  const total = times.reduce((sum, time) => sum + time, 0);
  const sorted = times.toSorted((a, b) => a - b);
  console.log(
    `${name.padEnd(13)} ${(bytes / 1e6).toFixed(2)} MB, ${total.toFixed(0)} ms (cpu ${((user + system) / 1e3).toFixed(0)}), ` +
      `p50 ${sorted[sorted.length >> 1]?.toFixed(2)}, p95 ${sorted[Math.floor(sorted.length * 0.95)]?.toFixed(2)}, max ${sorted.at(-1)?.toFixed(1)} ms, load in a new saver ${load.toFixed(0)} ms`,
  );
  return { bytes, total };
}

async function close(saver: BaseCheckpointSaver): Promise<void> {
  if (saver instanceof SqliteSaver) saver.db.close();
  else if (saver instanceof CompactSaver) await saver.end();
}

const calls = await record();
const compact = await replay("CompactSaver", calls, (path) => CompactSaver.fromConnString(path));
const sqlite = await replay("SqliteSaver", calls, (path) => SqliteSaver.fromConnString(path));
console.log(
  `bytes 1/${(sqlite.bytes / compact.bytes).toFixed(0)}, time 1/${(sqlite.total / compact.total).toFixed(1)}`,
);

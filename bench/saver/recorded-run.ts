import { deflateRawSync } from "node:zlib";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { runAgent } from "./agent.ts";

/** One call of `put` or `putWrites` that an agent's run made. */
interface Call {
  /** From 0: the agent's step that was under way. */
  readonly step: number;
  readonly make: (saver: BaseCheckpointSaver) => Promise<unknown>;
}

export interface RecordedRun {
  readonly steps: number;
  readonly calls: readonly Call[];
  readonly messages: number;
  /** Of the contents and arguments alone, four characters each. */
  readonly tokens: number;
  /** How far deflate packs all contents as one text. */
  readonly deflates: number;
}

/**
 * Runs the agent once and keeps the calls that its saver got, arguments by reference. Played on several savers one after another, they give each the
 * same work under the same ids, and times that are the savers' own.
 */
export async function recordRun(steps: number): Promise<RecordedRun> {
  const calls: Call[] = [];
  const saver = CompactSaver.fromConnString(":memory:");
  const { put, putWrites } = saver;
  let step = 0;
  saver.put = (...args) => {
    calls.push({ step, make: (target) => target.put(...args) });
    // input and the model's first answer are superstep -1 to 1, each step has two
    step = Math.max(0, Math.floor(((args[2].step ?? 0) + 1) / 2));
    return put.apply(saver, args);
  };
  saver.putWrites = (...args) => {
    calls.push({ step, make: (target) => target.putWrites(...args) });
    return putWrites.apply(saver, args);
  };
  const messages = await runAgent(saver, steps);
  await saver.end();
  const text = messages.map((message) => JSON.stringify(message.content)).join("\n");
  return {
    steps,
    calls,
    messages: messages.length,
    tokens: Math.round(text.length / 4),
    deflates: text.length / deflateRawSync(text).length,
  };
}

export interface PlayTimes {
  readonly totalMs: number;
  readonly cpuMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** Of the first and the last sixth of the steps: 50 of 300. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export async function play(run: RecordedRun, saver: BaseCheckpointSaver): Promise<PlayTimes> {
  const part = Math.max(1, Math.floor(run.steps / 6));
  const times: number[] = [];
  let [firstMs, lastMs] = [0, 0];
  const before = process.cpuUsage();
  for (const { step, make } of run.calls) {
    const start = performance.now();
    await make(saver);
    const time = performance.now() - start;
    times.push(time);
    if (step < part) firstMs += time;
    if (step >= run.steps - part && step < run.steps) lastMs += time;
  }
  const { user, system } = process.cpuUsage(before);
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    totalMs: times.reduce((sum, time) => sum + time, 0),
    cpuMs: (user + system) / 1_000,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    maxMs: at(1),
    firstMs,
    lastMs,
  };
}

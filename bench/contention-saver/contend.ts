import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, promisify } from "node:util";
import { CompactSaver } from "@longhaul/checkpointer";
import { COUNTER, STEPS, TASKS, threadOf, valuesAt } from "./content.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const LONGEST_MS = 900_000;

export interface ContentionReport {
  readonly calls: number;
  /** Of one call, waiting for the lock included. */
  readonly longestMs: number;
  /** Lost races for the shared record, each tried again. */
  readonly retries: number;
  readonly wrong: readonly string[];
}

/** Processes that make one new SQLite file together and run threads on it at the same time. */
export async function contend(processes: number, runs: number): Promise<ContentionReport> {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-contention-"));
  const path = join(folder, "agent.db");
  const wrong: string[] = [];
  let [calls, longestMs, retries] = [0, 0, 0];
  try {
    const names = Array.from({ length: processes }, (_, n) => `p${n}`);
    const ends = await Promise.allSettled(
      names.map((name) =>
        promisify(execFile)(process.execPath, ["--import", "tsx", CHILD, path, name, String(runs)], {
          timeout: LONGEST_MS,
        }),
      ),
    );
    for (const end of ends) {
      if (end.status === "rejected") {
        wrong.push(`a process failed: ${String(end.reason).slice(0, 1_000)}`);
        continue;
      }
      const report = JSON.parse(end.value.stdout) as Omit<ContentionReport, "wrong">;
      calls += report.calls;
      retries += report.retries;
      longestMs = Math.max(longestMs, report.longestMs);
    }
    const saver = CompactSaver.fromConnString(path);
    try {
      for (const name of names)
        for (let run = 0; run < runs; run++) wrong.push(...(await missingIn(saver, threadOf(name, run))));
      const counter = (await saver.records.get(COUNTER))?.value;
      if (counter !== processes * runs) wrong.push(`the counter is ${counter}, not ${processes * runs}`);
      for (const problem of (await saver.verify()).problems) wrong.push(`verify: ${JSON.stringify(problem)}`);
    } finally {
      await saver.end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { calls, longestMs, retries, wrong };
}

async function missingIn(saver: CompactSaver, thread: string): Promise<string[]> {
  const wrong: string[] = [];
  let step = STEPS;
  for await (const tuple of saver.list({ configurable: { thread_id: thread } })) {
    step -= 1;
    if (!isDeepStrictEqual(tuple.checkpoint.channel_values, valuesAt(thread, step)))
      wrong.push(`${thread}: step ${step} has other values`);
    const writes = (tuple.pendingWrites ?? []).map(([task, , value]) => [task, value]);
    const all = Array.from({ length: TASKS }, (_, task) => [`task-${task}`, `${thread} ${step} ${task}`]);
    if (!isDeepStrictEqual(writes, all)) wrong.push(`${thread}: step ${step} has other writes`);
  }
  if (step !== 0) wrong.push(`${thread}: ${step} checkpoints are missing`);
  return wrong;
}

/**
 * A worker: takes any open job that no living worker drives, drives it to its end, takes the next. There is no queue with locks: the
 * lease that `superviseRun` takes is the lock, and the lease of a dead worker is free.
 */
import { ToolMessage } from "@langchain/core/messages";
import { CompactSaver } from "@longhaul/checkpointer";
import { LeaseHeldError, LeaseLostError, superviseRun } from "@longhaul/core";
import { fulfilmentAgent } from "./agent.ts";
import { Database } from "./database.ts";

const [url = "", schema = "", modelUrl = ""] = process.argv.slice(2);
const database = new Database(url, schema);
const target = new URL(url);
target.searchParams.set("schema", `${schema}_longhaul`);
const saver = CompactSaver.fromConnString(target.href);
const agent = fulfilmentAgent({ modelUrl, saver, database });

for (;;) {
  const jobs = await database.openJobs();
  if (jobs.length === 0) break;
  for (const { thread, task } of jobs) await work(thread, task);
}
await saver.end();
await database.end();

async function work(thread: string, task: string): Promise<void> {
  process.send?.("began");
  try {
    const { status, stopReason, state } = await superviseRun(
      agent,
      { messages: [{ role: "user", content: task }] },
      { configurable: { thread_id: thread } },
      {
        // these workers are killed on purpose, more often than any should be
        caps: { step: 100, run: 1_000 },
        events: (event) => {
          if (event.type === "lease.taken-over") process.send?.("took over");
        },
      },
    );
    const told = state.messages.some(
      (message) => ToolMessage.isInstance(message) && /is unknown/.test(message.text),
    );
    await database.endJob(thread, stopReason ? `${status} ${stopReason}` : status, told);
  } catch (error) {
    // another worker has it
    if (!LeaseHeldError.isInstance(error) && !LeaseLostError.isInstance(error)) throw error;
  }
}

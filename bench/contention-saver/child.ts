// Child process of the contention bench: node --import tsx child.ts <file> <name> <runs>. Prints one line of JSON.
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { COUNTER, idAt, STEPS, TASKS, threadOf, valuesAt } from "./content.ts";

const [path = "", name = "", runs = "1"] = process.argv.slice(2);
const saver = CompactSaver.fromConnString(path);
let calls = 0;
let longestMs = 0;
let retries = 0;

async function timed<T>(call: Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await call;
  longestMs = Math.max(longestMs, performance.now() - start);
  calls += 1;
  return result;
}

for (let run = 0; run < Number(runs); run++) {
  const thread = threadOf(name, run);
  let config: RunnableConfig = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  for (let step = 0; step < STEPS; step++) {
    const versions = { list: saver.getNextVersion(undefined) };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: idAt(step),
      channel_values: valuesAt(thread, step),
      channel_versions: versions,
    };
    config = await timed(saver.put(config, checkpoint, { source: "loop", step, parents: {} }, versions));
    const tasks = Array.from({ length: TASKS }, (_, task) =>
      timed(saver.putWrites(config, [["list", `${thread} ${step} ${task}`]], `task-${task}`)),
    );
    await Promise.all(tasks);
  }
  for (;;) {
    const current = await timed(saver.records.get(COUNTER));
    const next = Number(current?.value ?? 0) + 1;
    if ((await timed(saver.records.compareAndSet(COUNTER, current?.version ?? null, next))).ok) break;
    retries += 1;
  }
}
await saver.end();
console.log(JSON.stringify({ calls, longestMs, retries }));

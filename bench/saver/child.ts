// Child process of the saver bench: node --import tsx child.ts <work> <spec as JSON> <steps>. Prints one line of JSON.
import { setTimeout as nextTurn } from "node:timers/promises";
import { agentOn, THREAD } from "./agent.ts";
import { loadNative } from "./native.ts";
import { type StoreSpec, withSaver } from "./stores.ts";

const [work = "", specText = "{}", steps = "1"] = process.argv.slice(2);
const spec = JSON.parse(specText) as StoreSpec;
// imports are not counted, also those that a saver makes at its first call
await loadNative();

if (work === "state" || work === "history" || work === "delta-history")
  console.log(JSON.stringify(await read()));
else if (work === "list") console.log(JSON.stringify(await list()));
else throw new Error(`unknown work ${work}`);

/** Time to open and to read, and the message counts that were read. */
async function read() {
  const start = performance.now();
  return withSaver(spec, async (saver) => {
    const agent = agentOn(saver, Number(steps), { delta: work === "delta-history" });
    const counts: number[] = [];
    const count = (values: unknown) =>
      counts.push((values as { messages?: unknown[] }).messages?.length ?? 0);
    if (work === "state") count((await agent.graph.getState(THREAD)).values);
    else for await (const { values } of agent.graph.getStateHistory(THREAD, { limit: 10 })) count(values);
    return { ms: performance.now() - start, counts };
  });
}

/** Lists all checkpoints: time to the first, and what is alive in memory at sixteen moments, over what was before. */
async function list() {
  const part = Math.max(1, Math.floor(Number(steps) / 16));
  const before = await alive();
  const start = performance.now();
  return withSaver(spec, async (saver) => {
    let firstMs = 0;
    let rows = 0;
    const aliveBytes: number[] = [];
    for await (const tuple of saver.list(THREAD)) {
      if (rows === 0) firstMs = performance.now() - start;
      rows += tuple ? 1 : 0;
      if (rows % part === 0) aliveBytes.push((await alive()) - before);
    }
    return { firstMs, rows, aliveBytes, allMs: performance.now() - start };
  });
}

/** Needs --expose-gc. */
async function alive(): Promise<number> {
  // the first finds what is gone, the memory outside the heap goes with the second
  for (let i = 0; i < 2; i++) {
    await nextTurn(0);
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

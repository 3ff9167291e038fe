/** The README's second example, run: `npx tsx examples/quickstart/state-graph.ts`. */
import { CompactSaver } from "@longhaul/checkpointer";
import { superviseRun } from "@longhaul/core";
import { createLonghaulGraph } from "@longhaul/graph-nodes";
import { startEndpoint } from "./endpoint.ts";
import { charge, search } from "./tools.ts";

const { model, stop } = await startEndpoint();
const task = "Find out what order O-7 costs and charge it.";

const saver = CompactSaver.fromConnString(":memory:");
const graph = createLonghaulGraph({
  model,
  tools: [search, charge],
  toolOptions: { search: { effect: "none" }, charge: { effect: "key" } },
  storage: saver,
}).compile({ checkpointer: saver });
const input = { messages: [{ role: "user", content: task }] };
const result = await superviseRun(graph, input, { configurable: { thread_id: "t1" } });
console.log(result.status, result.stopReason);
console.log(result.state.messages.at(-1)?.text);

await saver.end();
await stop();

/** The README's first example, run: `npx tsx examples/quickstart/create-agent.ts`. */
import { CompactSaver } from "@longhaul/checkpointer";
import { superviseRun } from "@longhaul/core";
import { longhaul } from "@longhaul/middleware";
import { createAgent } from "langchain";
import { startEndpoint } from "./endpoint.ts";
import { charge, search } from "./tools.ts";

const { model, stop } = await startEndpoint();
const task = "Find out what order O-7 costs and charge it.";

const saver = CompactSaver.fromConnString(":memory:");
const agent = createAgent({
  model,
  tools: [search, charge],
  checkpointer: saver,
  middleware: longhaul({ storage: saver, tools: { search: { effect: "none" }, charge: { effect: "key" } } }),
});
const input = { messages: [{ role: "user", content: task }] };
const result = await superviseRun(agent, input, { configurable: { thread_id: "t1" } });
console.log(result.status, result.stopReason);
console.log(result.state.messages.at(-1)?.text);

await saver.end();
await stop();

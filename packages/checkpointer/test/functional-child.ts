// A process that drives one supervised workflow of the functional API and may be told to die. Arguments: database, log of the world, plan.
import { appendFileSync } from "node:fs";
import { entrypoint, task } from "@langchain/langgraph";
import { CompactSaver } from "@longhaul/checkpointer";
import { guardTools, superviseRun } from "@longhaul/core";
import { crashNow } from "@longhaul/test-kit";
import { tool } from "langchain";
import { z } from "zod";

const [database = "", log = "", plan = "never"] = process.argv.slice(2);

function reach(point: string): void {
  appendFileSync(log, `${point}\n`);
  if (plan === `die ${point}`) crashNow();
}

const saver = CompactSaver.fromConnString(database);
const [charge] = guardTools(
  [
    tool(
      ({ order }) => {
        reach(`charge ${order}`);
        return `charged ${order}`;
      },
      { name: "charge", description: "Charges", schema: z.object({ order: z.number() }) },
    ),
  ],
  {
    storage: saver,
    // the world's log says whether it happened: it is written before the answer
    tools: { charge: { effect: "query", check: () => ({ outcome: "done", result: "charged" }) } },
  },
);

const price = task("price", async (order: number) => {
  reach(`price ${order}`);
  return order * 10;
});
const pay = task("pay", async (order: number) => {
  const answer = await charge.invoke({ order });
  reach(`paid ${order}`);
  return `${answer}`.slice(0, 7);
});
const flow = entrypoint({ name: "flow", checkpointer: saver }, async (orders: number[]) => {
  reach("body");
  const prices = await Promise.all(orders.map((order) => price(order)));
  const answers: string[] = [];
  for (const order of orders) answers.push(await pay(order));
  reach("end");
  return { prices, answers };
});

const result = await superviseRun(flow, [1, 2, 3], { configurable: { thread_id: "t" } });
process.send?.(result);
await saver.end();
process.disconnect?.();

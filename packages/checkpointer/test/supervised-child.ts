// A process that drives one supervised run and may be told to die. Arguments: database, log of the world, plan.
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { HumanMessage } from "@langchain/core/messages";
import { CompactSaver } from "@longhaul/checkpointer";
import { superviseRun } from "@longhaul/core";
import { crashNow, StrictChatModel } from "@longhaul/test-kit";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const [database = "", log = "", plan = "never"] = process.argv.slice(2);

/** Says what happens, and dies, waits or asks for a pause where the plan says so. */
async function reach(point: string): Promise<void> {
  appendFileSync(log, `${point}\n`);
  if (plan === `die ${point}`) crashNow();
  if (plan === `term ${point}`) {
    // A signal is heard a turn of the loop later, and waiting for one does not keep a process alive.
    const alive = setInterval(() => {}, 60_000);
    const heard = once(process, "SIGTERM");
    process.kill(process.pid, "SIGTERM");
    await heard;
    clearInterval(alive);
  }
  if (plan === `hang ${point}`) {
    process.send?.("hanging");
    // The timer keeps the process alive, a promise alone does not.
    await new Promise(() => setInterval(() => {}, 60_000));
  }
}

const STEPS = 4;

const model = new StrictChatModel({
  script: async ({ messages }) => {
    const step = messages.filter((message) => message.role === "assistant").length + 1;
    await reach(`model ${step}`);
    if (step > STEPS) return "done";
    return {
      toolCalls: [
        { name: "search", args: { step }, id: `search_${step}` },
        { name: "charge", args: { step }, id: `charge_${step}` },
      ],
    };
  },
});

const tools = ["search", "charge"].map((name) =>
  tool(
    async ({ step }: { step: number }) => {
      await reach(`${name} ${step}`);
      return `${name} ${step} ok`;
    },
    { name, description: name, schema: z.object({ step: z.number() }) },
  ),
);

const saver = CompactSaver.fromConnString(database);
const put = saver.put.bind(saver);
let puts = 0;
saver.put = async (...args: Parameters<typeof put>) => {
  await reach(`put ${++puts}`);
  const result = await put(...args);
  await reach(`stored ${puts}`);
  return result;
};

const agent = createAgent({ model, tools, checkpointer: saver });
const input = { messages: [new HumanMessage("go")] };
try {
  const result = await superviseRun(agent, input, { configurable: { thread_id: "t" } });
  const messages = result.state.messages.map((message) => `${message.getType()}: ${message.text}`);
  process.send?.({ ...result, state: undefined, messages });
} catch (error) {
  process.send?.({ refused: (error as { code?: string }).code });
} finally {
  await saver.end();
}
process.disconnect?.();

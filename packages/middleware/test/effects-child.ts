/**
 * One life of an agent that charges a card: `node effects-child.ts <folder> <durability>`. Begins the run, or goes on with the one
 * that is in the folder. Dies where CRASH_AT says.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import { createStorage, currentEffect, MemoryArtifactStore } from "@longhaul/core";
import { CrashPoints, crashPlanFromEnv, StrictChatModel, ToolWorld } from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { z } from "zod/v4";
import { idempotencyMiddleware } from "../src/idempotency-middleware.ts";
import { toolGuardMiddleware } from "../src/tool-guard-middleware.ts";
import { FileSaver, fileRecords } from "./durable-files.ts";

const [folder, durability] = process.argv.slice(2) as [string, "sync" | "exit"];
const world = ToolWorld.open(join(folder, "world.db"));
const crash = new CrashPoints(crashPlanFromEnv());
const storage = createStorage({
  records: crash.records(fileRecords(join(folder, "records"))),
  artifacts: new MemoryArtifactStore(),
  survivesProcess: true,
});
const saverPath = join(folder, "saver");
const resuming = existsSync(saverPath) && durability !== "exit";
const saver = crash.saver(new FileSaver(saverPath));

const schema = z.object({ order: z.string(), ref: z.string().optional() });
const perform = (name: string, order: string, key?: string) =>
  JSON.stringify(
    world.perform({ tool: name, business: order, key, payload: { order }, result: (n) => `${name} ${n}` })
      .result,
  );
const tools = [
  tool(({ order }) => perform("record", order), { name: "record", description: "x", schema }),
  tool(({ order }, config) => perform("key", order, currentEffect(config).key), {
    name: "key",
    description: "x",
    schema,
  }),
  tool(({ order }) => perform("query", order), { name: "query", description: "x", schema }),
  tool(({ order }) => `price of ${order}`, { name: "read", description: "x", schema }),
];

let turn = 0;
const model = new StrictChatModel({
  // Ids are new in each life, as a provider's are.
  script: ({ messages }) => {
    if (messages.at(-1)?.role === "tool") return "done";
    const id = (name: string) => `${name}_${process.pid}_${++turn}`;
    return {
      content: "",
      toolCalls: ["record", "key", "query", "read"].map((name) => ({
        name,
        id: id(name),
        args: { order: "O-7" },
      })),
    };
  },
});

const options = {
  storage,
  tools: {
    record: { effect: "record" },
    key: { effect: "key" },
    query: {
      effect: "query",
      check: ({ order }: Readonly<Record<string, unknown>>) => {
        const found = world.find("query", order as string);
        return found === undefined
          ? { outcome: "absent" as const }
          : { outcome: "done" as const, result: JSON.stringify(found) };
      },
    },
    read: { effect: "none" },
  },
} as const;
const agent = createAgent({
  model,
  tools,
  checkpointer: saver,
  middleware: [idempotencyMiddleware(options), toolGuardMiddleware({ ...options, backoffMs: 1 })],
});

const result = await agent.invoke(
  resuming ? (null as never) : { messages: [{ role: "user", content: "charge it" }] },
  {
    configurable: { thread_id: "t" },
    durability,
  },
);
const answers = result.messages.filter((message) => message.getType() === "tool");
process.stdout.write(JSON.stringify(answers.map(({ name, content }) => [name, content])));

import { ChatOpenAI } from "@langchain/openai";
import type { CompactSaver } from "@longhaul/checkpointer";
import { currentEffect } from "@longhaul/core";
import { longhaul } from "@longhaul/middleware";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import type { Database } from "./database.ts";

/** An agent that fulfils an order: it reserves, charges and ships, and mails the customer. */
export function fulfilmentAgent(given: {
  readonly modelUrl: string;
  readonly saver: CompactSaver;
  readonly database: Database;
}) {
  const { modelUrl, saver, database } = given;
  const schema = z.object({ order: z.string() });
  const threadOf = (order: string) => order.replace("order", "run");
  const tools = [
    tool(({ order }) => `${order}: 2 lamps, 30 EUR`, {
      name: "read_order",
      description: "Reads an order.",
      schema,
    }),
    tool(
      async ({ order }, config) => {
        await database.perform(threadOf(order), "charge", currentEffect(config).key);
        return `charged ${order}`;
      },
      { name: "charge", description: "Charges the card.", schema },
    ),
    tool(
      async ({ order }) => {
        await database.perform(threadOf(order), "ship", null);
        return `shipped ${order}`;
      },
      { name: "ship", description: "Has the parcel fetched.", schema },
    ),
    tool(
      async ({ order }) => {
        await database.perform(threadOf(order), "mail", null);
        return `mailed about ${order}`;
      },
      { name: "mail", description: "Mails the customer.", schema },
    ),
  ];
  return createAgent({
    model: new ChatOpenAI({ model: "scripted-model", apiKey: "none", configuration: { baseURL: modelUrl } }),
    tools,
    checkpointer: saver,
    middleware: longhaul({
      storage: saver,
      tools: {
        read_order: { effect: "none" },
        // the payment server drops what comes twice under one key
        charge: { effect: "key" },
        // the carrier can be asked
        ship: {
          effect: "query",
          check: async ({ order }) =>
            (await database.isDone(threadOf(String(order)), "ship"))
              ? { outcome: "done", result: `shipped ${String(order)}` }
              : { outcome: "absent" },
        },
        // nobody can say whether a mail went out: at most once, and the agent hears if it is not known
        mail: { effect: "record" },
      },
    }),
  });
}

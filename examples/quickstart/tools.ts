import { tool } from "@langchain/core/tools";
import { currentEffect } from "@longhaul/core";
import { z } from "zod";

export const search = tool(async () => "Order O-7 costs 30 EUR.", {
  name: "search",
  description: "Looks something up.",
  schema: z.object({ query: z.string() }),
});

/** What a payment server would keep: one payment for each idempotency key. */
export const payments = new Map<string, number>();

export const charge = tool(
  async ({ order, euros }, config) => {
    payments.set(currentEffect(config).key, euros);
    return `${order} is paid.`;
  },
  {
    name: "charge",
    description: "Charges the customer's card.",
    schema: z.object({ order: z.string(), euros: z.number() }),
  },
);

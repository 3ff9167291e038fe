import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { tool } from "@langchain/core/tools";
import { z } from "zod/v4";

/** A tool whose effect is a line in the world's file, written in one piece by whatever process runs it. */
export function chargeTool(world: string) {
  return tool(
    async ({ order }) => {
      appendFileSync(world, `${order}\n`);
      // gives way, so that the others of this process stand at the same place
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      return `charged ${order} by ${process.pid}`;
    },
    { name: "charge", description: "Charges an order", schema: z.object({ order: z.string() }) },
  );
}

/** How often each order was charged. */
export function chargesIn(world: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const order of existsSync(world) ? readFileSync(world, "utf8").trim().split("\n") : [])
    counts.set(order, (counts.get(order) ?? 0) + 1);
  return counts;
}

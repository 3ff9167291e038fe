// Child process of the claims bench: node --import tsx claims-child.ts <place as JSON> <callers> <guarded>. For each order that arrives as a line on
// stdin it makes that many calls at once and prints what they got as one line of JSON.
import { createInterface } from "node:readline";
import { guardTools } from "@longhaul/core";
import { chargeTool } from "./charge.ts";
import { openStorage, type Place } from "./places.ts";

const [json = "", callers = "1", guarded = "true"] = process.argv.slice(2);
const place = JSON.parse(json) as Place;
const { storage, end } = openStorage(place);
const bare = chargeTool(place.world);
const [guardedCharge] = guardTools([bare], {
  storage,
  tools: { charge: { effect: "record", keyOf: (args) => String(args.order) } },
});
const charge = guarded === "true" ? guardedCharge : bare;

console.log("ready");
for await (const order of createInterface({ input: process.stdin })) {
  const calls = Array.from({ length: Number(callers) }, () =>
    charge
      .invoke({ order }, { configurable: { thread_id: "claims" } })
      .then(String, (error) => `ERROR ${error}`),
  );
  console.log(JSON.stringify(await Promise.all(calls)));
}
await end();

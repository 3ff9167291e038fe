import { fileURLToPath } from "node:url";
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { startServerProcess, ToolWorld } from "@longhaul/test-kit";
import { expect, it } from "vitest";
import { createResearchTools } from "../tools.ts";
import { makeCatalogue } from "../world/catalogue.ts";
import { goalText, SYSTEM_PROMPT } from "../world/goal.ts";

it("the brain answers over HTTP from a process of its own", async () => {
  const server = await startServerProcess(fileURLToPath(new URL("../server.ts", import.meta.url)), {
    windowTokens: 32_000,
  });
  const world = ToolWorld.open(":memory:");
  try {
    const catalogue = makeCatalogue(1);
    const model = new ChatOpenAI({ apiKey: "none", maxRetries: 0, configuration: { baseURL: server.url } });
    const answer = await model
      .bindTools(createResearchTools({ catalogue, world }))
      .invoke([new SystemMessage(SYSTEM_PROMPT), new HumanMessage(goalText(catalogue))]);
    expect(answer.tool_calls?.map(({ name }) => name)).toEqual(["list_suppliers", "get_exchange_rates"]);
    expect((await server.served())[0]).toMatchObject({ status: 200, messages: 2 });
  } finally {
    world.close();
    await server.stop();
  }
});

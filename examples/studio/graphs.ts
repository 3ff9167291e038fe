/**
 * The supplier research agent in both forms, for LangGraph's dev server and Studio:
 *
 *   BASE_URL=… MODEL=… API_KEY=… npx @langchain/langgraph-cli@1.5.1 dev --config examples/studio/langgraph.json
 *
 * State, history and every channel of Longhaul show there. The dev server would keep all threads in one JSON file, so the saver is
 * pinned.
 */
import { ChatOpenAI } from "@langchain/openai";
import { CompactSaver, pinCheckpointer } from "@longhaul/checkpointer";
import { currentEffect } from "@longhaul/core";
import { ToolWorld } from "@longhaul/test-kit";
import { buildAgent } from "../supplier-research/run/build-agent.ts";
import { createResearchTools, researchToolEffects } from "../supplier-research/tools.ts";
import { makeCatalogue } from "../supplier-research/world/catalogue.ts";
import { SYSTEM_PROMPT } from "../supplier-research/world/goal.ts";

const saver = CompactSaver.fromConnString("studio.db");
const research = {
  catalogue: makeCatalogue(1),
  world: ToolWorld.open("studio-world.db"),
  effectKey: (config: unknown) => currentEffect(config as never).key,
};

function build(form: "createAgent" | "graph") {
  const built = buildAgent({
    form,
    model: new ChatOpenAI({
      model: process.env.MODEL ?? "scripted-model",
      apiKey: process.env.API_KEY ?? "none",
      configuration: { baseURL: process.env.BASE_URL ?? "http://127.0.0.1:8000/v1" },
    }),
    tools: createResearchTools(research),
    toolOptions: researchToolEffects(research),
    systemPrompt: SYSTEM_PROMPT,
    checkpointer: saver,
    storage: saver,
    window: 32_000,
    without: [],
    events: () => {},
  });
  return pinCheckpointer(built, saver);
}

export const agent = build("createAgent");
export const graph = build("graph");

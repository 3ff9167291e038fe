/**
 * The agent, in a process of its own that may die at any moment. What it needs is in its first argument (AgentConfig); what
 * happens goes to the parent as messages. Started again on the same folder, it goes on where the last one died.
 */
import { join } from "node:path";
import { type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatOpenAI } from "@langchain/openai";
import { CompactSaver } from "@longhaul/checkpointer";
import { createStorage, currentEffect, isAssistant, messageText, superviseRun } from "@longhaul/core";
import { CrashPoints, ToolWorld } from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { createResearchTools, researchToolEffects } from "../tools.ts";
import { makeCatalogue } from "../world/catalogue.ts";
import { goalText, SYSTEM_PROMPT } from "../world/goal.ts";
import type { AgentConfig, AgentEnd, AgentMessage, AgentOrder } from "./agent-messages.ts";
import { buildAgent } from "./build-agent.ts";
import { countCalls } from "./count-calls.ts";
import { killInTool } from "./kill-in-tool.ts";

const config = JSON.parse(process.argv[2] ?? "null") as AgentConfig;
const tell = (message: AgentMessage) => process.send?.(message);
// Nobody would read the result any more.
const onOrphaned = () => process.exit(1);
process.once("disconnect", onOrphaned);

const catalogue = makeCatalogue(config.seed);
const world = ToolWorld.open(join(config.folder, "world.db"));
const isGuarded = config.form !== "baseline" && !config.without.includes("ledger");
const effectKey = isGuarded ? (toolConfig: unknown) => currentEffect(toolConfig as never)?.key : undefined;
const research = { catalogue, world, effectKey };
const tools = killInTool(createResearchTools(research), config.kill, isGuarded);
const input = { messages: [new HumanMessage(goalText(catalogue))] };
const thread = { configurable: { thread_id: "suppliers" } };
const model = new ChatOpenAI({
  model: config.endpoint.model,
  apiKey: config.endpoint.apiKey,
  configuration: { baseURL: config.endpoint.baseUrl },
  temperature: 0,
});

const end = config.form === "baseline" ? await runBaseline() : await runLonghaul();
world.close();
process.off("disconnect", onOrphaned);
tell({ type: "ended", end });
process.disconnect?.();

/** What one would write without Longhaul: the whole history in every request, the official saver. */
async function runBaseline(): Promise<AgentEnd> {
  const checkpointer = SqliteSaver.fromConnString(join(config.folder, "baseline.db"));
  const agent = createAgent({ model, tools, systemPrompt: SYSTEM_PROMPT, checkpointer });
  try {
    const callbacks = [countCalls((call) => tell({ type: "call", call }))];
    const state = await agent.invoke(input, { ...thread, callbacks, recursionLimit: 5_000 });
    return endOf({ status: "COMPLETED", state });
  } catch (error) {
    const { values } = await agent.graph.getState(thread);
    return endOf({ status: "FAILED", state: values, failure: String(error) });
  } finally {
    checkpointer.db.close();
  }
}

async function runLonghaul(): Promise<AgentEnd> {
  const points = new CrashPoints(config.kill?.kind === "ledger" ? config.kill.plan : undefined);
  const saver = CompactSaver.fromConnString(join(config.folder, "longhaul.db"));
  const storage = createStorage({
    records: points.records(saver.records),
    artifacts: saver.artifacts,
    survivesProcess: true,
  });
  const drain = new AbortController();
  process.on("message", ({ type }: AgentOrder) => {
    if (type === "pause") drain.abort(new Error("asked to pause"));
  });
  const agent = buildAgent({
    form: config.form === "graph" ? "graph" : "createAgent",
    model,
    tools,
    toolOptions: researchToolEffects(research),
    systemPrompt: SYSTEM_PROMPT,
    checkpointer: points.saver(saver),
    storage,
    window: config.window,
    without: config.without,
    events: (event) => tell({ type: "event", event }),
  });
  const result = await superviseRun(agent, input, thread, {
    storage,
    caps: { step: config.cap, run: config.cap },
    backoff: config.waitsMs && { delaysMs: config.waitsMs },
    signal: drain.signal,
    events: (event) => tell({ type: "event", event }),
  });
  await saver.end();
  return endOf({
    status: result.status,
    stopReason: result.stopReason,
    state: result.state,
    failure:
      result.status !== "COMPLETED" && result.lastFailure
        ? `${result.lastFailure.code}: ${result.lastFailure.message}`
        : undefined,
  });
}

function endOf(end: {
  readonly status: string;
  readonly stopReason?: string | undefined;
  readonly state: unknown;
  readonly failure?: string | undefined;
}): AgentEnd {
  const { messages = [], _longhaulMemory } = end.state as {
    messages?: readonly BaseMessage[];
    _longhaulMemory?: { epoch?: number };
  };
  const answers = messages.filter((message): message is AIMessage => isAssistant(message));
  const last = answers.at(-1);
  return {
    status: end.status,
    stopReason: end.stopReason,
    answer: last ? messageText(last) : "",
    steps: answers.length,
    resets: _longhaulMemory?.epoch ?? 0,
    failure: end.failure,
  };
}

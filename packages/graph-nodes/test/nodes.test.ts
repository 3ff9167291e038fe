import { AIMessage } from "@langchain/core/messages";
import {
  END,
  MemorySaver,
  MessagesValue,
  type Send,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { buildContext, isAssistant, memoryStorage, messageText, readSeal } from "@longhaul/core";
import { callTools, type ScriptRequest } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import {
  contextNode,
  createCheckpointTool,
  guardNode,
  type LonghaulNodeState,
  longhaulChannels,
  modelNode,
  pendingNotices,
  type RequestOptions,
  resetNode,
  routeAfterGuard,
  routeAfterModel,
  summarizeNode,
  type ToolsNodeOptions,
  toolsNode,
} from "../src/index.ts";
import { ask, make, openCallsOf, recorder, resultsOf, strict, textsOf } from "./world.ts";

const State = new StateSchema({ messages: MessagesValue, ...longhaulChannels });
type State = typeof State.State;
let threads = 0;
const newThread = () => ({ configurable: { thread_id: `n${++threads}` }, recursionLimit: 200 });

const next = (state: State) =>
  ((state.messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END;

const pages = (count: number) => {
  let n = 0;
  return () => (n < count ? callTools(["look", { q: String(++n) }]) : "done");
};
const long = make(
  "look",
  (q) => `Page ${q}, serial SN-${1000 + Number(q)}. ${`Filler of page ${q}. `.repeat(60)}`,
);

describe("nodes in a graph of one's own", () => {
  it("three lines: the channels, buildContext in the model node, toolsNode", async () => {
    const model = strict(pages(2));
    const graph = new StateGraph(State)
      .addNode("agent", async (state) => {
        const { messages } = buildContext(state, { system: "Be brief.", notices: pendingNotices(state) });
        return { messages: [await model.bindTools([long]).invoke(messages)] };
      })
      .addNode("tools", toolsNode([long]))
      .addEdge(START, "agent")
      .addConditionalEdges("agent", next, ["tools", END])
      .addEdge("tools", "agent")
      .compile({ checkpointer: new MemorySaver() });
    const state = await graph.invoke(ask("Read. Never send mail."), newThread());
    expect(messageText(state.messages.at(-1)!)).toBe("done");
    const [system, goal] = textsOf(model.requests[2]);
    expect(system).toBe("Be brief.");
    expect(goal).toContain("Read. Never send mail.");
  });

  it("guardNode hints in the next request, toolsNode does not run what is blocked, and the loop ends sealed", async () => {
    let ran = 0;
    const look = make("look", () => {
      ran++;
      return "same";
    });
    const model = strict(() => callTools(["look", { q: "same" }]));
    const graph = new StateGraph(State)
      .addNode("guard", guardNode())
      .addNode("context", async (state) => {
        const { messages } = buildContext(state, { notices: pendingNotices(state) });
        return { messages: [await model.bindTools([look]).invoke(messages)] };
      })
      .addNode("tools", toolsNode([look]))
      .addEdge(START, "guard")
      .addConditionalEdges("guard", routeAfterGuard, ["context", END])
      .addConditionalEdges("context", next, ["tools", END])
      .addEdge("tools", "guard")
      .compile({ checkpointer: new MemorySaver() });
    const state = await graph.invoke(ask("go"), newThread());
    const last = state.messages.at(-1)!;
    expect(isAssistant(last) && readSeal(last)).toEqual({ status: "NEEDS_HUMAN", reason: "loop" });
    expect(openCallsOf(state)).toEqual([]);
    expect(ran).toBe(4);
    expect(model.requests.map((request) => textsOf(request).join("\n").includes("take another way"))).toEqual(
      [false, false, false, true, true],
    );
  });

  it("the resume note is in the first request after the resume only, whoever makes it", async () => {
    const model = strict(pages(2));
    const graph = new StateGraph(State)
      .addNode("agent", async (state) => {
        const { messages } = buildContext(state, { notices: pendingNotices(state) });
        return { messages: [await model.bindTools([long]).invoke(messages)] };
      })
      .addNode("tools", toolsNode([long]))
      .addEdge(START, "agent")
      .addConditionalEdges("agent", next, ["tools", END])
      .addEdge("tools", "agent")
      .compile({ checkpointer: new MemorySaver() });
    const config = newThread();
    await graph.invoke(ask("go"), { ...config, interruptBefore: ["tools"] });
    const longhaul_resume = { note: "Taken up at step 1." };
    await graph.invoke(null, { ...config, configurable: { ...config.configurable, longhaul_resume } });
    expect(model.requests.map((request) => textsOf(request).join("\n").includes("Taken up"))).toEqual([
      false,
      true,
      false,
    ]);
  });

  const folding = (options: RequestOptions, model = strict(pages(12))) => ({
    model,
    graph: new StateGraph(State)
      .addNode("context", contextNode({ ...options, tools: [long] }))
      .addNode("agent", async (state) => ({
        messages: [await model.bindTools([long]).invoke([...(state.longhaulRequest?.messages ?? [])])],
      }))
      .addNode("tools", toolsNode([long]))
      .addEdge(START, "context")
      .addEdge("context", "agent")
      .addConditionalEdges("agent", next, ["tools", END])
      .addEdge("tools", "context")
      .compile({ checkpointer: new MemorySaver() }),
  });

  it("contextNode before a model node of one's own: folds, keeps identifiers, leaves messages alone", async () => {
    const { model, graph } = folding({ context: { softLimit: 2_000 }, progress: false });
    const config = newThread();
    const state = await graph.invoke(ask("Read all."), config);
    expect(state.messages).toHaveLength(26);
    const last = textsOf(model.requests.at(-1)).join("\n");
    expect(last).toContain("SN-1001");
    expect(last).not.toContain("Filler of page 1. Filler");
    const largest = Math.max(...model.requests.map(({ tokens }) => tokens));
    expect(largest).toBeLessThan(5_000);
  });

  it("summarizeNode folds at its own place, for buildContext later", async () => {
    const model = strict(pages(12));
    const options = { context: { softLimit: 2_000 } };
    const graph = new StateGraph(State)
      .addNode("summarize", summarizeNode(options))
      .addNode("agent", async (state) => ({
        messages: [await model.bindTools([long]).invoke(buildContext(state, options.context).messages)],
      }))
      .addNode("tools", toolsNode([long]))
      .addEdge(START, "summarize")
      .addEdge("summarize", "agent")
      .addConditionalEdges("agent", next, ["tools", END])
      .addEdge("tools", "summarize")
      .compile({ checkpointer: new MemorySaver() });
    const config = newThread();
    const state = await graph.invoke(ask("Read all."), config);
    expect(messageText(state.messages.at(-1)!)).toBe("done");
    expect(state._longhaulMemory?.summaries.length).toBeGreaterThan(0);
    expect(textsOf(model.requests.at(-1)).join("\n")).not.toContain("Filler of page 1. Filler");
  });

  it("resetNode at the end of a phase: the next request begins at the checkpoint; without a new one it does nothing", async () => {
    const events = recorder();
    const checkpoint = createCheckpointTool();
    const tools = [long, checkpoint];
    const saved = {
      goal: "Read.",
      facts: [{ text: "SN-1001 is the serial.", source: "look" }],
      done: ["page 1"],
      todo: ["page 2"],
    };
    const model = strict([
      callTools(["look", { q: "1" }]),
      callTools(["checkpoint", saved]),
      callTools(["look", { q: "2" }]),
      "done",
    ]);
    const graph = new StateGraph(State)
      .addNode("reset", resetNode({ events: events.sink }))
      .addNode("context", contextNode({ tools }))
      .addNode("agent", async (state) => ({
        messages: [await model.bindTools(tools).invoke([...(state.longhaulRequest?.messages ?? [])])],
      }))
      .addNode("tools", toolsNode(tools))
      .addEdge(START, "context")
      .addEdge("context", "agent")
      .addConditionalEdges("agent", next, ["tools", END])
      .addEdge("tools", "reset")
      .addEdge("reset", "context")
      .compile({ checkpointer: new MemorySaver() });
    const state = await graph.invoke(ask("Read."), newThread());
    expect(messageText(state.messages.at(-1)!)).toBe("done");
    expect(events.of("reset.granted")).toHaveLength(1);
    expect(events.of("reset.refused")).toHaveLength(2);
    const after = textsOf(model.requests[2]).join("\n");
    expect(after).toContain("SN-1001 is the serial.");
    expect(after).not.toContain("Filler of page 1");
  });

  it("toolsNode takes per-tool options in the preset's shape, and counts to a budget only when it has one", async () => {
    const storage = memoryStorage();
    const charges: string[] = [];
    const charge = make("charge", (q) => {
      charges.push(q);
      return "charged";
    });
    const options: ToolsNodeOptions = {
      storage,
      toolOptions: { charge: { effect: "record", keyOf: ({ q }) => `order-${String(q)}` } },
    };
    const model = strict([callTools(["charge", { q: "7" }]), callTools(["charge", { q: "7" }]), "done"]);
    const run = async (given: ToolsNodeOptions) =>
      new StateGraph(State)
        .addNode("agent", async ({ messages }) => ({
          messages: [await model.bindTools([charge]).invoke(messages)],
        }))
        .addNode("tools", toolsNode([charge], given))
        .addEdge(START, "agent")
        .addConditionalEdges("agent", next, ["tools", END])
        .addEdge("tools", "agent")
        .compile({ checkpointer: new MemorySaver() })
        .invoke(ask("pay"), newThread());
    await run(options);
    expect(charges).toEqual(["7"]);

    const limited = strict(({ messages }: ScriptRequest) =>
      messages.length > 8 ? "done" : callTools(["look", { q: String(messages.length) }]),
    );
    const graph = new StateGraph(State)
      .addNode("agent", async ({ messages }) => ({
        messages: [await limited.bindTools([long]).invoke(messages)],
      }))
      .addNode("tools", toolsNode([long], { budget: { limits: { toolCalls: 2 } } }))
      .addEdge(START, "agent")
      .addConditionalEdges("agent", next, ["tools", END])
      .addEdge("tools", "agent")
      .compile({ checkpointer: new MemorySaver() });
    const results = resultsOf(await graph.invoke(ask("read"), newThread()));
    expect(results.map(({ status }) => status)).toEqual(["success", "success", "error", "error"]);
  });

  it("modelNode alone builds its own request, and withholds nothing that the budget does not say", async () => {
    const model = strict(pages(1));
    const graph = new StateGraph(State)
      .addNode("model", modelNode({ model, tools: [long], systemPrompt: "Be brief." }))
      .addNode("tools", toolsNode([long]))
      .addEdge(START, "model")
      .addConditionalEdges("model", routeAfterModel, ["tools", END])
      .addEdge("tools", "model")
      .compile({ checkpointer: new MemorySaver() });
    const state = await graph.invoke(ask("Read."), newThread());
    expect(messageText(state.messages.at(-1)!)).toBe("done");
    expect(textsOf(model.requests[0])[0]).toBe("Be brief.");
    expect(state._longhaulRun).toMatchObject({ status: "COMPLETED", step: 2 });
  });

  it("a provider that finds the request too long gets a smaller one, asked for a reset once only", async () => {
    const events = recorder();
    let failed = false;
    const script = pages(6);
    const model = strict(({ messages }) => {
      if (!failed && messages.length > 8) {
        failed = true;
        return Object.assign(new Error("maximum context length exceeded"), {
          code: "context_length_exceeded",
          status: 400,
        });
      }
      return script();
    });
    const options = {
      model,
      tools: [long],
      context: { softLimit: 1_500, window: 8_000 },
      events: events.sink,
      storage: memoryStorage(),
    };
    const graph = new StateGraph(State)
      .addNode("context", contextNode(options))
      .addNode("model", modelNode({ ...options, loops: false }))
      .addNode("tools", toolsNode([long]))
      .addEdge(START, "context")
      .addEdge("context", "model")
      .addConditionalEdges("model", routeAfterModel, ["tools", END])
      .addEdge("tools", "context")
      .compile({ checkpointer: new MemorySaver() });
    const state = await graph.invoke(ask("Read."), newThread());
    expect(messageText(state.messages.at(-1)!)).toBe("done");
    expect(events.of("context.overflow")).toHaveLength(1);
    expect(state._longhaulMemory?.calibration).toBeGreaterThan(0);
    const asked = events.of("reset.asked").map((event) => ("times" in event ? event.times : 0));
    for (const [i, times] of asked.entries())
      if (i > 0) expect(times === 1 || times === (asked[i - 1] ?? 0) + 1).toBe(true);
  });
});

describe("routeAfterModel", () => {
  it("sends each call alone, without the request, which a Send would store", () => {
    const call = { id: "c1", name: "look", args: {}, type: "tool_call" as const };
    const answer = new AIMessage({ content: "", tool_calls: [call] });
    const state = {
      messages: [answer],
      longhaulRequest: { messages: [], estimated: 1 },
    } as unknown as LonghaulNodeState;
    const [sent] = routeAfterModel(state) as Send[];
    expect(sent?.node).toBe("tools");
    expect(sent?.args).toEqual({ messages: [answer], lg_tool_call: call });
  });
});

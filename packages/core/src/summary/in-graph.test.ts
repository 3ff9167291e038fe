import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage } from "@langchain/core/messages";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { StrictChatModel } from "@longhaul/test-kit";
import { describe, expect, it } from "vitest";
import { createRecallTool } from "../artifacts/recall-tool.ts";
import { systemDeps } from "../clock.ts";
import { MemoryArtifactStore } from "../storage/memory-storage.ts";
import { summarizeGroups } from "./summarize-groups.ts";
import { testGroups, testHistory } from "./test-history.ts";

const SUMMARY = JSON.stringify({
  done: "Looked up the order of the customer and found it shipped.",
  outputs: [],
});

class Meter extends BaseCallbackHandler {
  name = "meter";
  override awaitHandlers = true;
  readonly seen: string[] = [];
  override handleChatModelStart(
    _: unknown,
    __: unknown,
    ___: string,
    ____?: string,
    _____?: unknown,
    tags?: string[],
  ) {
    this.seen.push(`start ${tags?.includes("longhaul:summary")}`);
  }
  override handleLLMEnd() {
    this.seen.push("end");
  }
  override handleLLMError() {
    this.seen.push("error");
  }
}

describe("inside a graph", () => {
  it("A16, E7: no token of the summariser reaches the user's stream, the meter sees every call, failed ones too", async () => {
    const meter = new Meter();
    const summarizer = new StrictChatModel({ script: [new Error("503"), SUMMARY] });
    const model = new StrictChatModel({ script: ["The answer is 42."] });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", async (state) => {
        const outcome = await summarizeGroups(
          {
            thread: "t",
            groups: testGroups("x", { calls: [{ name: "get", result: "shipped" }] }),
            goal: "",
            previous: [],
            knownIdentifiers: [],
            artifacts: {},
          },
          {},
          {
            artifacts: new MemoryArtifactStore(),
            summarizer,
            callbacks: [meter],
            emit: () => {},
            deps: systemDeps,
          },
        );
        expect(outcome.ok).toBe(true);
        return { messages: [await model.invoke(state.messages)] };
      })
      .addEdge("__start__", "model")
      .compile();
    let text = "";
    for await (const [chunk] of await graph.stream(
      { messages: testHistory("What is it?") },
      { streamMode: "messages" },
    )) {
      text += String(chunk.content);
    }
    expect(text).toContain("The answer is 42.");
    expect(text).not.toContain("Looked up");
    expect(meter.seen).toEqual(["start true", "error", "start true", "end"]);
  });

  it("the recall tool reads the state and the thread that its call was made in", async () => {
    const artifacts = new MemoryArtifactStore();
    const ref = await artifacts.put("t9", "the stored text", { kind: "tool-result", label: "get, step 1" });
    const history = testHistory("Go.", { calls: [{ name: "get", result: "R-100 of step one" }] });
    const calls = [
      { name: "recall", args: { ref }, id: "r1" },
      { name: "recall", args: { steps: "1" }, id: "r2" },
    ];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("tools", new ToolNode([createRecallTool({ artifacts })]))
      .addEdge("__start__", "tools")
      .compile();
    const { messages } = await graph.invoke(
      { messages: [...history, new AIMessage({ content: "", tool_calls: calls })] },
      { configurable: { thread_id: "t9" } },
    );
    expect(messages.slice(-2).map(({ content }) => content)).toEqual([
      "get, step 1:\nthe stored text",
      expect.stringContaining("Result: R-100 of step one"),
    ]);
  });
});

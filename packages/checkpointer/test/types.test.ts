import { FakeListChatModel } from "@langchain/core/utils/testing";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { open } from "./temp.ts";

it("stands where LangGraph and LangChain take a checkpointer, without a cast", async () => {
  const saver = open(":memory:");
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("a", () => ({}))
    .addEdge(START, "a")
    .compile({ checkpointer: saver });
  await graph.invoke({ messages: ["hi"] }, { configurable: { thread_id: "graph" } });
  const agent = createAgent({
    model: new FakeListChatModel({ responses: ["hello"] }),
    tools: [],
    checkpointer: saver,
  });
  const config = { configurable: { thread_id: "agent" } };
  await agent.invoke({ messages: ["hi"] }, config);
  const { messages } = await agent.invoke({ messages: ["again"] }, config);
  expect(messages.map((message) => message.type)).toEqual(["human", "ai", "human", "ai"]);
  expect((await graph.getState({ configurable: { thread_id: "graph" } })).values.messages.length).toBe(1);
});

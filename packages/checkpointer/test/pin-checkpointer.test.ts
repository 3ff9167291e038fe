import { Annotation, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { CompactSaver, pinCheckpointer } from "../src/index.ts";

const graph = () =>
  new StateGraph(Annotation.Root({ n: Annotation<number> }))
    .addNode("add", ({ n }) => ({ n: n + 1 }))
    .addEdge(START, "add")
    .compile({ checkpointer: new MemorySaver() });

it("keeps the saver when a server sets its own, and on copies that a server makes", async () => {
  const saver = CompactSaver.fromConnString(":memory:");
  const pinned = pinCheckpointer(graph(), saver);
  pinned.checkpointer = new MemorySaver();
  expect(pinned.checkpointer).toBe(saver);
  await pinned.invoke({ n: 1 }, { configurable: { thread_id: "t" } });
  expect((await saver.getTuple({ configurable: { thread_id: "t" } }))?.checkpoint.channel_values.n).toBe(2);
  await saver.end();
});

it("refuses what is no graph", () => {
  expect(() => pinCheckpointer({}, CompactSaver.fromConnString(":memory:"))).toThrow("compiled graph");
});

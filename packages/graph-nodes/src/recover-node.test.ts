import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { FatalTaskError, InvalidOptionsError } from "@longhaul/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { recoverNode } from "./recover-node.ts";

const call = (id: string) => ({ name: "charge", args: {}, id });

/** Model, tools, model: the tools fail as told. */
function run(fail: (attempt: number) => Error | undefined) {
  let attempts = 0;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", ({ messages }) => ({
      messages: [
        messages.some((message) => ToolMessage.isInstance(message))
          ? new AIMessage("done")
          : new AIMessage({ content: "", tool_calls: [call("1"), call("2")] }),
      ],
    }))
    .addNode(
      "tools",
      () => {
        const error = fail(++attempts);
        if (error) throw error;
        return { messages: ["1", "2"].map((id) => new ToolMessage({ content: "ok", tool_call_id: id })) };
      },
      recoverNode({ goto: "model" }) as never,
    )
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) =>
      (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
    )
    .addEdge("tools", "model")
    .compile();
  const done = graph.invoke({ messages: [new HumanMessage("go")] });
  // Observed at once, so that a rejection before the timers ran is not taken for unhandled.
  done.catch(() => {});
  return { done, attempts: () => attempts };
}

const unavailable = () => Object.assign(new Error("down"), { status: 503 });

describe("recoverNode", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("retries what may pass and leaves no trace", async () => {
    const { done, attempts } = run((attempt) => (attempt < 3 ? unavailable() : undefined));
    await vi.advanceTimersByTimeAsync(10_000);
    const { messages } = await done;
    expect(attempts()).toBe(3);
    expect(messages.map(({ content }) => content)).toEqual(["go", "", "ok", "ok", "done"]);
  });

  it("gives the node up after its retries: every open call gets an error result and the model goes on", async () => {
    const { done, attempts } = run(unavailable);
    await vi.advanceTimersByTimeAsync(60_000);
    const { messages } = await done;
    expect(attempts()).toBe(4);
    const results = messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));
    expect(results.map(({ tool_call_id, status }) => [tool_call_id, status])).toEqual([
      ["1", "error"],
      ["2", "error"],
    ]);
    expect(results[0]?.content).toContain("HTTP_503: down");
    expect(messages.at(-1)?.content).toBe("done");
  });

  it("fails the run at once when the error is fatal", async () => {
    const { done, attempts } = run(() => new FatalTaskError("hopeless"));
    await expect(done).rejects.toThrow("hopeless");
    expect(attempts()).toBe(1);
  });

  it("fails the run when there is no call to answer", () => {
    const { errorHandler } = recoverNode({ goto: "model" });
    const error = unavailable();
    expect(() => errorHandler({ total: 1 }, { node: "sum", error } as never)).toThrow("down");
    expect(() => errorHandler(null, { node: "sum", error } as never)).toThrow("down");
  });

  it.each([{ goto: "" }, { goto: "model", retries: -1 }, { goto: "model", retries: 1.5 }])(
    "refuses %j",
    (options) => {
      expect(() => recoverNode(options)).toThrow(InvalidOptionsError);
    },
  );
});

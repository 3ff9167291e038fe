import { ChatOpenAI } from "@langchain/openai";
import { CompactSaver } from "@longhaul/checkpointer";
import { superviseRun, superviseStream } from "@longhaul/core";
import { createLonghaulGraph } from "@longhaul/graph-nodes";
import { longhaul } from "@longhaul/middleware";
import { callTools, type Fault, ScriptedServer, type ServedRequest } from "@longhaul/test-kit";
import { createAgent, tool } from "langchain";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod/v4";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const ORDER = "O-7, to the warehouse in the north, and not to the one in the south";
const input = { messages: [{ role: "user", content: "go" }] };
const options = { backoff: { delaysMs: [0] }, meter: false as const };

/** An agent on a real wire, of which one request goes wrong. */
async function agentBehind(fault: Fault, atRequest: number, form: "agent" | "graph" = "agent") {
  const server = await ScriptedServer.start({
    script: ({ messages }) =>
      messages.some(({ role, content }) => role === "tool" && String(content).startsWith("charged"))
        ? "It is done, and everybody has been told so."
        : callTools(["charge", { order: ORDER }]),
    fault: ({ number }) => (number === atRequest ? fault : undefined),
  });
  const saver = CompactSaver.fromConnString(":memory:");
  open.push(
    () => server.close(),
    () => saver.end(),
  );
  const charged: string[] = [];
  const model = new ChatOpenAI({
    model: "scripted-model",
    apiKey: "none",
    configuration: { baseURL: server.url },
    maxRetries: 0,
    timeout: fault.kind === "hang" ? 300 : 10_000,
  });
  const charge = tool(
    ({ order }) => {
      charged.push(order);
      return `charged ${order}`;
    },
    { name: "charge", description: "Charges.", schema: z.object({ order: z.string() }) },
  );
  const shared = { storage: saver, toolOptions: { charge: { effect: "record" } } } as const;
  const graph =
    form === "agent"
      ? createAgent({
          model,
          tools: [charge],
          checkpointer: saver,
          middleware: longhaul({ storage: saver, tools: shared.toolOptions }),
        })
      : createLonghaulGraph({ model, tools: [charge], ...shared }).compile({ checkpointer: saver });
  return { graph: graph as never, charged, server };
}

const FAULTS: readonly (readonly [string, Fault, string | undefined])[] = [
  ["429", { kind: "status", status: 429, retryAfterSeconds: 0 }, "retryable"],
  ["500", { kind: "status", status: 500 }, "retryable"],
  ["a hang", { kind: "hang" }, "retryable"],
  ["a connection cut before the answer", { kind: "cut", afterChunks: 0 }, "retryable"],
  ["a connection cut in the middle of the answer", { kind: "cut", afterChunks: 3 }, "retryable"],
  ["a page of a proxy instead of JSON", { kind: "garbage", where: "body" }, "recoverable"],
  ["JSON that ends in the middle", { kind: "garbage", where: "json" }, "recoverable"],
  ["arguments that end in the middle", { kind: "garbage", where: "arguments" }, undefined],
];

describe.each(["invoke", "stream", "graph"] as const)("a wire that fails once (%s)", (how) => {
  it.each(FAULTS.flatMap(([name, ...rest]) => [1, 2].map((at) => [name, at, ...rest] as const)))(
    "%s, at request %d: the run completes, and the effect is done once and whole",
    async (_, at, fault, failureClass) => {
      const { graph, charged, server } = await agentBehind(fault, at, how === "graph" ? "graph" : "agent");
      const config = { configurable: { thread_id: "t" } };
      let result: { status: string; lastFailure?: { class: string } | undefined } | undefined;
      if (how === "stream") {
        const run = superviseStream(graph, input, { ...config, streamMode: "messages" } as never, options);
        for (let next = await run.next(); ; next = await run.next()) {
          if (!next.done) continue;
          result = next.value;
          break;
        }
      } else result = await superviseRun(graph, input, config, options);
      expect(result.status).toBe("COMPLETED");
      expect(charged).toEqual([ORDER]);
      const failed = (request: ServedRequest) => request.fault !== undefined;
      expect(server.served.filter(failed)).toHaveLength(1);
      // of an answer without calls there are no arguments to cut
      if (fault.kind !== "garbage" || fault.where !== "arguments")
        expect(result.lastFailure?.class).toBe(failureClass);
    },
  );
});

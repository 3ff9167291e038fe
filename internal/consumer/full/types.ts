// Compiled with module nodenext and with bundler, strict; the declarations of our packages are checked too.
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { CompactSaver, type StorageDriver } from "@longhaul/checkpointer";
import { storageDriverSuite } from "@longhaul/checkpointer/conformance";
import { type LonghaulStorage, superviseRun } from "@longhaul/core";
import { createLonghaulGraph } from "@longhaul/graph-nodes";
import { longhaul } from "@longhaul/middleware";
import { createAgent } from "langchain";

declare const model: BaseChatModel;
declare const driver: StorageDriver;

export async function run(): Promise<string> {
  const saver = new CompactSaver(driver, { retention: "recommended" });
  const storage: LonghaulStorage = saver;
  const agent = createAgent({ model, tools: [], checkpointer: saver, middleware: longhaul({ storage }) });
  const input = { messages: [{ role: "user", content: "Go." }] };
  const { status } = await superviseRun(agent, input, { configurable: { thread_id: "t" } });
  const graph = createLonghaulGraph({ model, tools: [], storage }).compile({ checkpointer: saver });
  await graph.invoke(input, { configurable: { thread_id: "u" } });
  return status;
}

export const suite: unknown = storageDriverSuite;

// @ts-expect-error a misspelt option is refused
new CompactSaver(driver, { retentoin: "all" });

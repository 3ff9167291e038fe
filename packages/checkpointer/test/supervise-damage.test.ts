import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { CompactSaver } from "@longhaul/checkpointer";
import { superviseRun } from "@longhaul/core";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";

let database = "";
beforeEach(() => {
  database = join(mkdtempSync(join(tmpdir(), "damage-")), "agent.db");
});
afterEach(() => rmSync(join(database, ".."), { recursive: true, force: true }));

const config = { configurable: { thread_id: "t" } };
const input = { messages: [new HumanMessage("go")] };

/** Three nodes in a row; the second asks for a pause when told so. */
function open(pause?: AbortController) {
  const saver = CompactSaver.fromConnString(database);
  const say = (text: string) => ({ messages: [new AIMessage(`${text} ${text.repeat(200)}`)] });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("a", () => say("a"))
    .addNode("b", () => {
      pause?.abort();
      return say("b");
    })
    .addNode("c", () => say("c"))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer: saver });
  return { graph, saver };
}

it("C16: a flipped bit in the newest checkpoint stops the run, and the sound ancestor serves on request", async () => {
  const pause = new AbortController();
  const first = open(pause);
  const paused = await superviseRun(first.graph, input, config, { signal: pause.signal });
  expect(paused).toMatchObject({ status: "PAUSED", stopReason: "drained" });
  await first.saver.end();

  const db = new Database(database);
  const newest = db.prepare("select id, data from chunks order by id desc limit 1").get() as {
    id: number;
    data: Buffer;
  };
  newest.data[newest.data.length - 3] = (newest.data.at(-3) ?? 0) ^ 1;
  db.prepare("update chunks set data = ? where id = ?").run(newest.data, newest.id);
  db.close();

  const { graph, saver } = open();
  const refused = await superviseRun(graph, input, config);
  expect(refused).toMatchObject({ status: "NEEDS_HUMAN", lastFailure: { code: "DAMAGED_HEAD" } });
  expect(refused.lastFailure?.message).toMatch(/Checkpoint \S+ is sound/);
  const done = await superviseRun(graph, input, config, { onDamagedHead: "parent" });
  expect(done).toMatchObject({ status: "COMPLETED", runId: paused.runId });
  expect(done.state.messages.map((message) => message.text.slice(0, 2).trim())).toEqual([
    "go",
    "a",
    "b",
    "c",
  ]);
  await saver.end();
});

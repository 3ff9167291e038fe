// What both programs do with the packages they got: a run of a small agent that is cut off, and goes on in a new process's place.
const assert = require("node:assert/strict");
const { rmSync } = require("node:fs");

module.exports = async function job(
  {
    createAgent,
    tool,
    BaseChatModel,
    AIMessage,
    z,
    CompactSaver,
    longhaul,
    superviseRun,
    createLonghaulGraph,
  },
  file,
) {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });

  class Scripted extends BaseChatModel {
    turn = 0;
    _llmType() {
      return "scripted";
    }
    bindTools() {
      return this;
    }
    async _generate(messages) {
      const done = messages.some((message) => message.type === "tool");
      const message = done
        ? new AIMessage({ content: "paid" })
        : new AIMessage({
            content: "",
            tool_calls: [{ name: "pay", args: { amount: 3 }, id: "call_1", type: "tool_call" }],
          });
      return { generations: [{ text: String(message.content), message }] };
    }
  }

  let paid = 0;
  const pay = tool(
    async ({ amount }) => {
      paid += amount;
      return "done";
    },
    { name: "pay", description: "Pays.", schema: z.object({ amount: z.number() }) },
  );
  const model = new Scripted({});
  const toolOptions = { pay: { effect: "key" } };
  const input = { messages: [{ role: "user", content: "Pay 3." }] };
  const lastOf = ({ messages }) => messages.at(-1).content;

  const saver = CompactSaver.fromConnString(file);
  const agent = createAgent({
    model,
    tools: [pay],
    checkpointer: saver,
    middleware: longhaul({ storage: saver, tools: toolOptions }),
  });
  const result = await superviseRun(agent, input, { configurable: { thread_id: "agent" } });
  assert.equal(result.status, "COMPLETED", JSON.stringify(result));

  const graph = createLonghaulGraph({ model, tools: [pay], toolOptions, storage: saver }).compile({
    checkpointer: saver,
  });
  const other = await superviseRun(graph, input, { configurable: { thread_id: "graph" } });
  assert.equal(other.status, "COMPLETED", JSON.stringify(other));
  await saver.end();
  assert.equal(paid, 6);

  const again = CompactSaver.fromConnString(file);
  for (const thread_id of ["agent", "graph"]) {
    const tuple = await again.getTuple({ configurable: { thread_id } });
    assert.equal(lastOf(tuple.checkpoint.channel_values), "paid");
  }
  assert.equal((await again.verify()).ok, true);
  await again.end();
};

import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { memoryStorage, superviseRun } from "@longhaul/core";
import { callTools, StrictChatModel } from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { z } from "zod/v4";
import { idempotencyMiddleware } from "../src/index.ts";

const config = { configurable: { thread_id: "t" } };
const ask = (content: string) => ({ messages: [{ role: "user" as const, content }] });

/** Loses the results of finished tasks, as a process does that dies between an effect and its checkpoint. */
class Losing extends MemorySaver {
  loses = true;
  #dead = false;

  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    if (this.loses && args[1].some(([, value]) => JSON.stringify(value).includes("tool_call_id"))) {
      this.#dead = true;
      throw dead();
    }
    return super.putWrites(...args);
  }

  override async put(...args: Parameters<MemorySaver["put"]>) {
    if (this.loses && this.#dead) throw dead();
    return super.put(...args);
  }
}

const dead = () => Object.assign(new Error("the process dies here"), { status: 401 });

it("D1, D6: a new message behind a crash finds stored results, and hears of the rest what is known", async () => {
  const storage = memoryStorage();
  const counts = { charge: 0, mail: 0, hand_over: 0, refused: 0 };
  const schema = z.object({});
  const tools = [
    tool(() => `charged ${++counts.charge}`, { name: "charge", description: "x", schema }),
    tool(
      () => {
        counts.mail++;
        throw Object.assign(new Error("timed out"), { name: "TimeoutError" });
      },
      { name: "mail", description: "x", schema },
    ),
    tool(
      () => {
        counts.refused++;
        throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
      },
      { name: "refused", description: "x", schema },
    ),
    tool(
      (_, runtime) => {
        const answer = new ToolMessage({
          content: `handed over ${++counts.hand_over}`,
          tool_call_id: (runtime as { toolCall?: { id?: string } }).toolCall?.id ?? "",
        });
        return new Command({ update: { messages: [answer] } });
      },
      { name: "hand_over", description: "x", schema },
    ),
  ];
  const record = { effect: "record" } as const;
  const calls = callTools(["charge", {}], ["mail", {}], ["hand_over", {}], ["refused", {}], ["plain", {}]);
  const plain = tool(() => "read", { name: "plain", description: "x", schema });
  let asked = 0;
  const saver = new Losing();
  const agent = createAgent({
    model: new StrictChatModel({ script: () => (asked++ === 0 ? calls : "fine") }),
    tools: [...tools, plain] as StructuredToolInterface[],
    checkpointer: saver,
    middleware: [
      idempotencyMiddleware({
        storage,
        tools: {
          charge: record,
          mail: record,
          hand_over: record,
          refused: record,
          plain: { effect: "none" },
        },
      }),
    ],
  });
  const options = { storage, meter: false as const, caps: { step: 0 }, backoff: { delaysMs: [0] } };
  const failed = await superviseRun(agent, ask("Do all."), config, options);
  expect(failed.status).not.toBe("COMPLETED");
  saver.loses = false;
  const { status, state } = await superviseRun(agent, ask("And now?"), config, options);
  expect(status).toBe("COMPLETED");
  const said = Object.fromEntries(
    (state as { messages: BaseMessage[] }).messages
      .filter((message): message is ToolMessage => ToolMessage.isInstance(message))
      .map(({ name, content, tool_call_id, status }) => [
        name ?? tool_call_id,
        `${status ?? "success"}: ${String(content).split("\n")[0]}`,
      ]),
  );
  expect(Object.values(said)).toHaveLength(5);
  expect(said.charge).toBe("success: charged 1");
  expect(Object.values(said)).toContainEqual(expect.stringMatching(/^success: handed over 1/));
  expect(said.mail).toMatch(/^error: .*outcome is unknown.*Reference: lh-/);
  expect(said.refused).toMatch(/^error: .*had not taken effect/);
  expect(said.plain).toMatch(/^error: .*outcome is unknown; if it may/);
  expect(counts).toEqual({ charge: 1, mail: 1, hand_over: 1, refused: 1 });
});

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { guardTools, type LonghaulEvent, memoryStorage, type ToolOptionsMap } from "@longhaul/core";
import { callTools, type Reply, type Script, StrictChatModel } from "@longhaul/test-kit";
import { type AgentMiddleware, createAgent, humanInTheLoopMiddleware, toolRetryMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { type LonghaulOptions, longhaul } from "../src/index.ts";

// The cases of side effects through the whole chain, with inputs other than those of the unit tests.

const config = (thread = "t") => ({ configurable: { thread_id: thread }, recursionLimit: 200 });
const ask = (content: string) => ({ messages: [{ role: "user" as const, content }] });
const results = (messages: readonly BaseMessage[]) =>
  messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));
const make = (name: string, body: (args: Record<string, unknown>) => unknown) =>
  tool((args) => body(args as Record<string, unknown>), {
    name,
    description: "x",
    schema: z.looseObject({}),
  });

function setup(
  script: Script | readonly (Reply | Script)[],
  tools: ReturnType<typeof make>[],
  toolOptions: ToolOptionsMap = {},
  given: {
    readonly storage?: ReturnType<typeof memoryStorage>;
    readonly saver?: MemorySaver;
    readonly effects?: LonghaulOptions["effects"];
    readonly before?: AgentMiddleware[];
    readonly after?: AgentMiddleware[];
  } = {},
) {
  const storage = given.storage ?? memoryStorage();
  const events: LonghaulEvent[] = [];
  const model = new StrictChatModel({ script });
  const agent = createAgent({
    model,
    tools,
    checkpointer: given.saver ?? new MemorySaver(),
    middleware: [
      ...(given.before ?? []),
      ...longhaul({
        storage,
        tools: toolOptions,
        effects: given.effects,
        loops: false,
        progress: false,
        toolGuard: { backoffMs: 1 },
        events: (event) => void events.push(event),
      }),
      ...(given.after ?? []),
    ] as AgentMiddleware[],
  });
  return { agent, model, storage, events };
}

/** Refuses to store what holds this text, once: the process dies between an effect's record and its checkpoint. */
class DyingSaver extends MemorySaver {
  diesAt: string | undefined;
  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    if (this.diesAt !== undefined && JSON.stringify(args[1]).includes(this.diesAt)) {
      this.diesAt = undefined;
      throw new Error("power lost");
    }
    return super.putWrites(...args);
  }
}

/** Answers each of the user's turns with these calls, then with text. */
const turns = (...calls: ReturnType<typeof callTools>[]): (Reply | Script)[] =>
  calls.flatMap((call) => [call, "done"]);

describe("D6: an outcome that nobody knows", () => {
  const failures: [string, () => unknown][] = [
    ["a sentence with a status", () => new Error("Request failed with status code 504")],
    ["a reset told by text", () => new Error("read ECONNRESET")],
    ["gRPC", () => Object.assign(new Error("14 UNAVAILABLE: Connection dropped"), { code: 14 })],
    ["a database that went away", () => Object.assign(new Error("x"), { code: "57P01" })],
    ["a cloud client", () => Object.assign(new Error("x"), { $metadata: { httpStatusCode: 500 } })],
    [
      "a child process that was killed",
      () => Object.assign(new Error("Command failed"), { killed: true, signal: "SIGTERM" }),
    ],
    ["a wrapped time-out", () => new Error("mail failed", { cause: new DOMException("x", "TimeoutError") })],
    ["no Error at all", () => "socket hang up"],
  ];
  it.each(failures)("D6: %s: done once, whatever retries and the model try", async (_, failure) => {
    let sent = 0;
    const send = make("send_mail", () => {
      sent++;
      throw failure();
    });
    const retry = toolRetryMiddleware({ maxRetries: 3, initialDelayMs: 0, jitter: false });
    for (const place of ["before", "after"] as const) {
      sent = 0;
      const call = callTools(["send_mail", { to: "a@x" }]);
      const { agent } = setup(
        [call, call, call, "gave up"],
        [send],
        { send_mail: { effect: "record" } },
        { [place]: [retry] },
      );
      const { messages } = await agent.invoke(ask("send it"), config());
      expect(sent).toBe(1);
      for (const message of results(messages)) {
        expect(message.content).toContain("Verify first");
        expect(message.status).toBe("error");
      }
    }
  });

  it.each(["done", "absent", "unknown"] as const)(
    "D6: a look-up that says %s decides, also when it answers on the second turn",
    async (outcome) => {
      let sent = 0;
      const send = make("send_mail", () => {
        if (++sent === 1) throw new Error("HTTP 503");
        return `sent ${sent}`;
      });
      const call = callTools(["send_mail", { to: "a@x" }]);
      const { agent } = setup([call, ...(outcome === "unknown" ? [call] : []), "ok"], [send], {
        send_mail: {
          effect: "query",
          check: () => (outcome === "done" ? { outcome, result: "ref 17" } : { outcome }),
        },
      });
      const { messages } = await agent.invoke(ask("send it"), config());
      const texts = results(messages).map(({ content }) => String(content));
      if (outcome === "done") {
        expect(sent).toBe(1);
        expect(texts[0]).toContain("ref 17");
      } else if (outcome === "absent") expect(texts[0]).toContain("sent 2");
      else {
        expect(sent).toBe(1);
        expect(texts.join()).toContain("unknown");
      }
    },
  );
});

describe("D2: wanted repetition", () => {
  it("D2: three in a batch of other calls, a read that changes between, twice more in the next turn", async () => {
    let sent = 0;
    let price = 0;
    const send = make("send", () => `sent ${++sent}`);
    const get = make("get_price", () => `price ${++price}`);
    const { agent } = setup(
      [
        callTools(
          ["send", { to: "a", body: "hi" }],
          ["get_price", { sku: 1 }],
          ["send", { body: "hi", to: "a" }],
          ["send", { to: "a", body: "hi" }],
        ),
        callTools(["get_price", { sku: 1 }]),
        "sent",
        callTools(["send", { to: "a", body: "hi" }], ["send", { to: "a", body: "hi" }]),
        callTools(["get_price", { sku: 1 }]),
        "sent",
      ],
      [send, get],
      { send: { effect: "record" }, get_price: { effect: "none" } },
    );
    await agent.invoke(ask("send the reminder three times"), config());
    expect([sent, price]).toEqual([3, 2]);
    await agent.invoke(ask("twice more"), config());
    expect([sent, price]).toEqual([5, 3]);
  });

  it("D1, D2: a death at K4 in the middle of equal calls: the model asks again with new ids and key order", async () => {
    let sent = 0;
    const send = make("send", () => `sent ${++sent}`);
    const saver = new DyingSaver();
    saver.diesAt = "sent 2";
    const storage = memoryStorage();
    const script = [
      callTools(
        ["send", { to: "a", body: "hi" }],
        ["send", { body: "hi", to: "a" }],
        ["send", { to: "a", body: "hi" }],
      ),
      "sent",
    ];
    const first = setup(script, [send], { send: { effect: "record" } }, { saver, storage });
    await expect(first.agent.invoke(ask("three times"), config())).rejects.toThrow("power lost");
    const second = setup(["sent"], [send], { send: { effect: "record" } }, { saver, storage });
    const { messages } = await second.agent.invoke(null as never, config());
    expect(sent).toBe(3);
    expect(new Set(results(messages).map(({ content }) => String(content).split("\n")[0])).size).toBe(3);
  });
});

describe("D4: one key, another payload", () => {
  it("D4: a conflict is not executed and does not show the stored result; the same payload replays", async () => {
    let moved = 0;
    const transfer = make("transfer", ({ amt }) => `moved ${String(amt)} as secret-${++moved}`);
    const refund = make("refund", () => `refunded ${++moved}`);
    const own = { effect: "record", keyOf: ({ key }: Record<string, unknown>) => key as string } as const;
    const { agent, events } = setup(
      turns(
        callTools(["transfer", { key: "K", amt: 10 }]),
        callTools(["transfer", { key: "K", amt: 20 }]),
        callTools(["transfer", { key: "K", amt: 10.0 }]),
        callTools(["refund", { key: "K", amt: 10 }]),
      ),
      [transfer, refund],
      { transfer: own, refund: own },
    );
    const said: string[] = [];
    for (const turn of ["a", "b", "c", "d"])
      said.push(String(results((await agent.invoke(ask(turn), config())).messages).at(-1)?.content));
    expect(moved).toBe(1);
    expect(said[1]).not.toContain("secret");
    expect(said[2]).toContain("secret-1");
    expect(said[2]).toContain("not run again");
    expect(said[3]).not.toContain("secret");
    expect(events.filter(({ type }) => type === "effect.conflict")).toHaveLength(2);
  });
});

describe("D7: what may run again", () => {
  it.each<[string, () => unknown, number]>([
    ["refused connection told by text", () => new Error("connect ECONNREFUSED 10.0.0.1:443"), 2],
    [
      "all addresses refused",
      () => Object.assign(new AggregateError([Object.assign(new Error("a"), { code: "ECONNREFUSED" })])),
      2,
    ],
    ["401", () => Object.assign(new Error("x"), { status: 401 }), 2],
    ["HTTP 429", () => new Error("HTTP 429"), 2],
  ])("D7: %s", async (_, failure, runs) => {
    let ran = 0;
    const charge = make("charge", () => {
      if (++ran === 1) throw failure();
      return "charged";
    });
    const { agent } = setup(
      [callTools(["charge", { o: 1 }]), callTools(["charge", { o: 1 }]), "ok"],
      [charge],
      {
        charge: { effect: "record" },
      },
    );
    const { messages } = await agent.invoke(ask("charge"), config());
    expect(ran).toBe(runs);
    expect(results(messages).at(-1)?.content).toBe("charged");
  });
});

describe("D10: scope and form of keys", () => {
  it("D10: tenants with one thread name and one ledger never share, in the same or another agent", async () => {
    let ran = 0;
    const charge = make("charge", () => `charged ${++ran}`);
    const storage = memoryStorage();
    const scope = (runConfig: { configurable?: Record<string, unknown> }) =>
      String(runConfig.configurable?.tenant);
    for (const tenant of ["A", "B", "A"]) {
      const { agent } = setup(
        turns(callTools(["charge", { a: 1, b: null }])),
        [charge],
        { charge: { effect: "record" } },
        { storage, effects: { scope } },
      );
      await agent.invoke(ask("charge"), { ...config(), configurable: { thread_id: "t", tenant } });
    }
    // The third is a new conversation of tenant A in a lost history: the same intent, so it replays.
    expect(ran).toBe(2);
  });
});

describe("C3: mixed decisions", () => {
  const counts: Record<string, number> = {};
  const count = (name: string) =>
    make(name, ({ amt }) => {
      const key = `${name} ${String(amt ?? "")}`.trim();
      counts[key] = (counts[key] ?? 0) + 1;
      return key;
    });
  const script = [callTools(["calc", {}], ["refund", { amt: 500 }], ["drop_table", { amt: 1 }]), "done"];

  it("C3: auto, edited and rejected in one pause, a crash behind the effect, the decisions given twice", async () => {
    for (const key of Object.keys(counts)) delete counts[key];
    const saver = new DyingSaver();
    const storage = memoryStorage();
    // Approval inside the tool: what it runs is guarded under the arguments that a human decided.
    const approved = (name: string) => {
      const [inner] = guardTools([count(name)], { storage, tools: { [name]: { effect: "record" } } });
      return tool(
        async (args: Record<string, unknown>, runtime) => {
          const decision = interrupt({ tool: name, args }) as { args?: object; reject?: string };
          if (decision.reject !== undefined) return `rejected: ${decision.reject}`;
          const { toolCall } = runtime as unknown as { toolCall: object };
          return inner?.invoke(
            { ...toolCall, args: { ...args, ...decision.args } } as never,
            runtime as never,
          );
        },
        { name, description: "x", schema: z.looseObject({}) },
      );
    };
    const tools = [count("calc"), approved("refund"), approved("drop_table")] as ReturnType<typeof make>[];
    const free: ToolOptionsMap = { refund: { effect: "none" }, drop_table: { effect: "none" } };
    const first = setup(script, tools, free, { saver, storage });
    const paused = await first.agent.invoke(ask("tidy up"), config());
    const questions = (paused as unknown as { __interrupt__: { id: string; value: { tool: string } }[] })
      .__interrupt__;
    expect(questions).toHaveLength(2);
    const decided: Record<string, object> = { refund: { args: { amt: 50 } }, drop_table: { reject: "no" } };
    const resume = Object.fromEntries(questions.map(({ id, value }) => [id, decided[value.tool]]));
    saver.diesAt = "refund 50";
    await expect(first.agent.invoke(new Command({ resume }), config())).rejects.toThrow("power lost");
    const second = setup(["done"], tools, free, { saver, storage });
    const { messages } = await second.agent.invoke(new Command({ resume }), config());
    expect(counts).toEqual({ calc: 1, "refund 50": 1 });
    const said = Object.fromEntries(results(messages).map(({ name, content }) => [name, String(content)]));
    expect(said.drop_table).toBe("rejected: no");
    expect(said.refund).toContain("refund 50");
    const records = [];
    for await (const { record } of storage.effects.list("t")) records.push(record);
    expect(records.find(({ tool: name }) => name === "refund")).toMatchObject({
      args: { amt: 50 },
      proposed: { amt: 500 },
    });
  });

  it("C3: where langchain's approval drops approved calls, the history stays valid and nothing runs that was refused", async () => {
    for (const key of Object.keys(counts)) delete counts[key];
    const hitl = humanInTheLoopMiddleware({ interruptOn: { refund: true, drop_table: true } } as never);
    const tools = [count("calc"), count("refund"), count("drop_table")];
    const { agent, model } = setup(script, tools, {}, { before: [hitl as AgentMiddleware] });
    await agent.invoke(ask("tidy up"), config());
    const decisions = [
      { type: "edit", editedAction: { name: "refund", args: { amt: 50 } } },
      { type: "reject", message: "no" },
    ];
    const { messages } = await agent.invoke(new Command({ resume: { decisions } }), config());
    expect(messages.at(-1)).toBeInstanceOf(AIMessage);
    expect(model.requests).toHaveLength(2);
    expect(counts["drop_table 1"]).toBeUndefined();
    expect(counts["refund 500"]).toBeUndefined();
  });
});

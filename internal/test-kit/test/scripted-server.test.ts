import {
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import {
  callTools,
  countRequestTokens,
  type Fault,
  ScriptedServer,
  type ScriptedServerOptions,
  wireText,
} from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";

const open: ScriptedServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function start(options: ScriptedServerOptions, client: { maxRetries?: number; timeout?: number } = {}) {
  const server = await ScriptedServer.start(options);
  open.push(server);
  const model = () =>
    new ChatOpenAI({
      model: "scripted-model",
      apiKey: "none",
      configuration: { baseURL: server.url },
      maxRetries: client.maxRetries ?? 0,
      ...(client.timeout === undefined ? {} : { timeout: client.timeout }),
    });
  return { server, model };
}

const add = tool(async ({ a, b }: { a: number; b: number }) => `${a + b} 👍`, {
  name: "add",
  description: "Adds",
  schema: z.object({ a: z.number(), b: z.number() }),
});

const adder: ScriptedServerOptions["script"] = ({ messages }) =>
  messages.at(-1)?.role === "tool"
    ? `Sums: ${messages
        .filter(({ role }) => role === "tool")
        .map(wireText)
        .join(", ")}`
    : {
        content: "Adding twice 🧮",
        toolCalls: [
          { name: "add", args: { a: 1, b: 2 } },
          { name: "add", args: { a: 3, b: 4 } },
        ],
      };

describe("ScriptedServer with the real client", () => {
  it.each([false, true])("parallel tool calls, text and usage arrive (streaming: %s)", async (streaming) => {
    const { server, model } = await start({ script: adder, record: true });
    const agent = createAgent({ model: model(), tools: [add] });
    const input = { messages: [new HumanMessage("go")] };
    const messages = streaming ? await streamed(agent, input) : (await agent.invoke(input)).messages;
    expect(messages.map((message) => message.text)).toEqual([
      "go",
      "Adding twice 🧮",
      "3 👍",
      "7 👍",
      "Sums: 3 👍, 7 👍",
    ]);
    expect(server.served.map(({ status, stream, messages }) => ({ status, stream, messages }))).toEqual([
      { status: 200, stream: streaming, messages: 1 },
      { status: 200, stream: streaming, messages: 4 },
    ]);
    const usage = usageOf(messages.at(-1));
    const request = server.served[1]?.request;
    expect(usage?.input_tokens).toBe(countRequestTokens(request?.messages ?? [], request?.tools));
    expect(usage?.output_tokens).toBeGreaterThan(0);
    const ids = messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("reports the cached prefix of a growing request, none of another, and none below the minimum", async () => {
    const { model } = await start({ script: () => "ok" });
    const long = new HumanMessage("word ".repeat(2_000));
    const first = await model().invoke([long]);
    const grown = [long, first, new HumanMessage("and more ".repeat(2_000))];
    const second = await whole(model(), grown);
    const third = await model().invoke([...grown, second, new HumanMessage("end")]);
    const other = await model().invoke([new HumanMessage(`other ${"word ".repeat(2_000)}`)]);
    const cached = [first, second, third, other].map(
      (message) => usageOf(message)?.input_token_details?.cache_read,
    );
    expect(cached[0]).toBe(0);
    expect(cached[1]).toBeGreaterThan(2_300);
    expect(cached[1]).toBeLessThanOrEqual(2_504);
    expect(cached[2]).toBeGreaterThan(6_500);
    expect(cached[3]).toBe(0);
    const small = new HumanMessage("word ".repeat(500));
    await model().invoke([small]);
    expect(usageOf(await model().invoke([small]))?.input_token_details?.cache_read).toBe(0);
  });

  it("passes response_format to the script, for structured output", async () => {
    const { model } = await start({
      script: ({ responseFormat }) =>
        (responseFormat as { type?: string } | undefined)?.type === "json_schema"
          ? '{"name":"Ada"}'
          : "plain",
    });
    const structured = model().withStructuredOutput(z.object({ name: z.string() }), { method: "jsonSchema" });
    expect(await structured.invoke("who?")).toEqual({ name: "Ada" });
  });

  it("a 429 is retried by the client after Retry-After, and both tries are seen as one request", async () => {
    const limited: Fault = { kind: "status", status: 429, retryAfterSeconds: 0 };
    const { server, model } = await start(
      { script: () => "at last", fault: ({ attempt }) => (attempt <= 2 ? limited : undefined) },
      { maxRetries: 3 },
    );
    expect((await model().invoke("x")).text).toBe("at last");
    expect(server.served.map(({ status, attempt }) => [status, attempt])).toEqual([
      [429, 1],
      [429, 2],
      [200, 3],
    ]);
  });

  it.each([401, 429, 500, 503])("a lasting %i reaches the caller with its status", async (status) => {
    const { model } = await start({ script: () => "never", fault: () => ({ kind: "status", status }) });
    await expect(model().invoke("x")).rejects.toMatchObject({ status });
    await expect(whole(model(), "x")).rejects.toMatchObject({ status });
  });

  it("a request beyond the window gets OpenAI's context error", async () => {
    const { model } = await start({ script: () => "ok", windowTokens: 100 });
    await expect(model().invoke("x".repeat(200))).resolves.toMatchObject({ content: "ok" });
    const error = await model()
      .invoke("x".repeat(2_000))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: "ContextOverflowError",
      cause: { status: 400, code: "context_length_exceeded" },
    });
    expect((error as Error).message).toContain("maximum context length is 100 tokens");
  });

  it("a broken rule gets a 400 that names it, unless rules are off or exempt", async () => {
    const inARow = [new HumanMessage("a"), new HumanMessage("b")];
    const strict = await start({ script: () => "ok" });
    await expect(strict.model().invoke(inARow)).rejects.toMatchObject({ status: 400, code: "strict_rule_2" });
    expect(strict.server.served[0]).toMatchObject({ status: 400, brokenRule: { rule: 2, index: 1 } });
    const exempt = await start({ script: () => "ok", strict: { exempt: ["2-in-a-row"] } });
    await expect(exempt.model().invoke(inARow)).resolves.toMatchObject({ content: "ok" });
    const loose = await start({ script: () => "ok", strict: false });
    await expect(loose.model().invoke(inARow)).resolves.toMatchObject({ content: "ok" });
  });

  it("a cut stream, a cut answer and a hang fail the call instead of giving half an answer", async () => {
    const words = "many words ".repeat(100);
    const cut = await start({ script: () => words, fault: () => ({ kind: "cut", afterChunks: 5 }) });
    await expect(whole(cut.model(), "x")).rejects.toThrow();
    await expect(cut.model().invoke("x")).rejects.toThrow();
    const hang = await start({ script: () => words, fault: () => ({ kind: "hang" }) }, { timeout: 200 });
    await expect(hang.model().invoke("x")).rejects.toThrow(/timed out|abort/i);
    expect(hang.server.served[0]).toMatchObject({ status: 0, fault: "hang" });
  });

  it("a script that throws or returns an error is a 500; the next request is served", async () => {
    const { model } = await start({
      script: [new Error("mind lost"), () => Promise.reject(new Error("too")), "ok"],
    });
    await expect(model().invoke("x")).rejects.toMatchObject({ status: 500 });
    await expect(model().invoke("x")).rejects.toMatchObject({ status: 500 });
    expect((await model().invoke("x")).text).toBe("ok");
  });

  it("lists models, refuses other routes and bodies, closes twice while a request hangs", async () => {
    const { server } = await start({ script: callToolsOnce, fault: () => ({ kind: "hang" }) });
    const models = (await (await fetch(`${server.url}/models`)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toEqual(["scripted-model"]);
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
    const bad = await fetch(`${server.url}/chat/completions`, { method: "POST", body: "{" });
    expect(bad.status).toBe(400);
    const hanging = fetch(`${server.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "x" }] }),
    });
    const broken = expect(hanging).rejects.toThrow();
    while (server.served.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await server.close();
    await server.close();
    await broken;
  });

  it("serves requests of 2 MB in little time, also when it knows hundreds", async () => {
    const { server } = await start({ script: () => "ok" });
    const messages = Array.from({ length: 200 }, (_, i) => ({
      role: i % 2 === 0 ? "user" : "assistant",
      content: `${i} ${"lorem ipsum ".repeat(850)}`,
    }));
    const started = performance.now();
    for (let n = 181; n <= 199; n += 2) {
      const body = JSON.stringify({ messages: messages.slice(0, n) });
      const response = await fetch(`${server.url}/chat/completions`, { method: "POST", body });
      await response.arrayBuffer();
    }
    const last = server.served.at(-1);
    expect(last?.tokens).toBeGreaterThan(500_000);
    expect((last?.cachedTokens ?? 0) / (last?.tokens ?? 1)).toBeGreaterThan(0.97);
    expect((performance.now() - started) / 10).toBeLessThan(1_000);
  });
});

const callToolsOnce = () => callTools(["add", { a: 1, b: 1 }]);

/** Through `stream`: with the client's `streaming: true` an `invoke` would fetch a vocabulary from the internet. */
async function whole(model: ChatOpenAI, input: Parameters<ChatOpenAI["stream"]>[0]): Promise<AIMessageChunk> {
  let sum: AIMessageChunk | undefined;
  for await (const chunk of await model.stream(input)) sum = sum?.concat(chunk) ?? chunk;
  if (!sum) throw new Error("The stream was empty");
  return sum;
}

async function streamed(
  agent: ReturnType<typeof createAgent>,
  input: { messages: BaseMessage[] },
): Promise<BaseMessage[]> {
  let last: BaseMessage[] = [];
  let tokens = 0;
  for await (const [mode, data] of await agent.stream(input, { streamMode: ["values", "messages"] })) {
    if (mode === "values") last = (data as { messages: BaseMessage[] }).messages;
    else tokens++;
  }
  expect(tokens).toBeGreaterThan(10);
  return last;
}

function usageOf(message: unknown): UsageMetadata | undefined {
  return (message as { readonly usage_metadata?: UsageMetadata } | undefined)?.usage_metadata;
}

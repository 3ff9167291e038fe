import { fileURLToPath } from "node:url";
import { ChatOpenAI } from "@langchain/openai";
import { startServerProcess } from "@longhaul/test-kit";
import { expect, it } from "vitest";

it("a server in its own process serves, reports what it served and ends cleanly", async () => {
  const fixture = fileURLToPath(new URL("./fixtures/echo-server.ts", import.meta.url));
  const server = await startServerProcess(fixture, { windowTokens: 50 });
  try {
    const model = new ChatOpenAI({ apiKey: "none", maxRetries: 0, configuration: { baseURL: server.url } });
    expect((await model.invoke("hello")).text).toBe("you said: hello");
    await expect(model.invoke("x".repeat(1_000))).rejects.toMatchObject({ name: "ContextOverflowError" });
    expect((await server.served()).map(({ status }) => status)).toEqual([200, 400]);
  } finally {
    await server.stop();
  }
  await server.stop();
  expect(() => process.kill(server.pid, 0)).toThrow("ESRCH");
});

it("a server that cannot start says so", async () => {
  await expect(startServerProcess("/nowhere/module.ts")).rejects.toThrow("before it listened");
});

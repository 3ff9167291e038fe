import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { UsageError } from "../../shared/usage-error.ts";
import { AgentProcessError } from "./agent-child.ts";
import { parseDemoOptions } from "./demo-options.ts";
import { runDemo } from "./demo-run.ts";
import { EndpointDownError, endpointFrom } from "./endpoint.ts";
import { NO_OUTPUT } from "./progress-line.ts";
import { NoSuchRunError, newRunFile, writeRunFile } from "./run-file.ts";

it("takes the endpoint of the environment, or says what is missing", () => {
  expect(endpointFrom({})).toBeUndefined();
  expect(endpointFrom({ MODEL: "m", API_KEY: "k" })).toBeUndefined();
  expect(endpointFrom({ BASE_URL: "http://localhost:1/v1", MODEL: "m" })).toEqual({
    baseUrl: "http://localhost:1/v1",
    model: "m",
    apiKey: "none",
  });
  expect(() => endpointFrom({ BASE_URL: "http://localhost:1/v1" })).toThrow(UsageError);
  expect(() => endpointFrom({ BASE_URL: "/", MODEL: "m" })).toThrow(UsageError);
});

it("an endpoint that is down ends the demo before it begins", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const env = { BASE_URL: `http://127.0.0.1:${port}/v1`, MODEL: "m" };
  const error = await runDemo(parseDemoOptions([]), { env, out: NO_OUTPUT }).catch((it: unknown) => it);
  expect(error).toBeInstanceOf(EndpointDownError);
  expect(error).toMatchObject({ code: "ENDPOINT_DOWN", cause: expect.anything() });
});

it("a run that breaks says where it can be gone on with", async () => {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-demo-test-"));
  try {
    writeRunFile(folder, newRunFile({ seed: 1, graph: false, kills: 0 }));
    // What an interrupted disk leaves: the agent process cannot open it and ends with an error.
    writeFileSync(join(folder, "world.db"), "not a database, and long enough to be read as one".repeat(100));
    const shown: string[] = [];
    const out = { write: (text: string) => shown.push(text) };
    const run = runDemo(parseDemoOptions(["--resume", folder]), { out });
    await expect(run).rejects.toThrow(AgentProcessError);
    expect(shown.join("")).toContain(`--resume ${folder}`);
    expect(existsSync(folder)).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it("a folder without a run cannot be gone on with", async () => {
  const options = parseDemoOptions(["--resume", "/nowhere/at/all"]);
  await expect(runDemo(options, { out: NO_OUTPUT })).rejects.toThrow(NoSuchRunError);
});

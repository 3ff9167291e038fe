import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { UsageError } from "../../shared/usage-error.ts";
import { parseDemoOptions } from "./demo-options.ts";
import { runDemo } from "./demo-run.ts";
import { EndpointDownError, endpointFrom } from "./endpoint.ts";
import { NO_OUTPUT } from "./progress-line.ts";
import { NoSuchRunError } from "./run-file.ts";

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

it("a folder without a run cannot be gone on with", async () => {
  const options = parseDemoOptions(["--resume", "/nowhere/at/all"]);
  await expect(runDemo(options, { out: NO_OUTPUT })).rejects.toThrow(NoSuchRunError);
});

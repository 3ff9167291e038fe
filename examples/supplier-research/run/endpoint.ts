import { fileURLToPath } from "node:url";
import { LonghaulError } from "@longhaul/core";
import { type ServedRequest, startServerProcess } from "@longhaul/test-kit";
import { UsageError } from "../../shared/usage-error.ts";

/** Where the model is. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string;
}

/** An endpoint in use. `served` is what it served, where it keeps a record for us. */
export interface OpenEndpoint {
  readonly endpoint: Endpoint;
  readonly isScripted: boolean;
  served(): Promise<readonly ServedRequest[] | undefined>;
}

const SCRIPTED_MODEL = "scripted-model";

/** The endpoint does not answer; nothing was started. */
export class EndpointDownError extends LonghaulError {
  readonly code = "ENDPOINT_DOWN";
  constructor(url: string, cause: unknown) {
    super(`Nothing answers at ${url}. Start the endpoint or correct BASE_URL; no run was begun.`, { cause });
  }
}

/** The caller's own endpoint, if the environment names one. @throws UsageError */
export function endpointFrom(env: NodeJS.ProcessEnv): Endpoint | undefined {
  const { BASE_URL, MODEL, API_KEY } = env;
  if (!BASE_URL) return undefined;
  if (!URL.canParse(BASE_URL)) throw new UsageError(`BASE_URL is no URL: ${JSON.stringify(BASE_URL)}.`);
  if (!MODEL) throw new UsageError("BASE_URL needs MODEL, the name of a model at that endpoint.");
  return { baseUrl: BASE_URL, model: MODEL, apiKey: API_KEY || "none" };
}

/** Any HTTP answer will do: what the endpoint thinks of the request is the run's business. @throws EndpointDownError */
export async function assertAnswers(endpoint: Endpoint): Promise<void> {
  try {
    const response = await fetch(`${endpoint.baseUrl.replace(/\/$/, "")}/models`, {
      headers: { authorization: `Bearer ${endpoint.apiKey}` },
      signal: AbortSignal.timeout(5_000),
    });
    await response.body?.cancel();
  } catch (error) {
    throw new EndpointDownError(endpoint.baseUrl, error);
  }
}

/** Works against the caller's endpoint, or against a scripted server of its own for the time of `work`. */
export async function withEndpoint<T>(
  own: Endpoint | undefined,
  windowTokens: number,
  work: (open: OpenEndpoint) => Promise<T>,
): Promise<T> {
  if (own) return work({ endpoint: own, isScripted: false, served: async () => undefined });
  const module = fileURLToPath(new URL("../server.ts", import.meta.url));
  const server = await startServerProcess(module, { windowTokens });
  try {
    const endpoint = { baseUrl: server.url, model: SCRIPTED_MODEL, apiKey: "none" };
    return await work({ endpoint, isScripted: true, served: server.served });
  } finally {
    await server.stop();
  }
}

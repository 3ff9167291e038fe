import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { PrefixCache } from "../script/prefix-cache.ts";
import { type Reply, type Script, type ScriptRequest, sequence } from "../script/reply.ts";
import { type BrokenRule, checkRequest, type StrictOptions } from "../strict/strict-rules.ts";
import { countTextTokens, serialiseRequest } from "../wire/count-tokens.ts";
import type { WireMessage, WireTool } from "../wire/wire-message.ts";
import { type Completion, completionBody, completionChunks, completionOf } from "./completion.ts";
import type { ArrivedRequest, Fault, FaultHook } from "./fault.ts";

export interface ScriptedServerOptions {
  /** The mind: a function of the request, or replies in turn. An Error becomes a 500 (or its own `status`). */
  readonly script: Script | readonly (Reply | Script)[];
  /** What goes wrong, request by request; asked before the script. @default nothing */
  readonly fault?: FaultHook | undefined;
  /** Context window in tokens; a larger request gets OpenAI's `context_length_exceeded`. @default none */
  readonly windowTokens?: number | undefined;
  /** Rules that are enforced with a 400; `false`: none. @default all */
  readonly strict?: Pick<StrictOptions, "exempt"> | false | undefined;
  /** Shortest prefix that the prompt cache reports, tokens. @default 1024 */
  readonly cacheMinTokens?: number | undefined;
  /** Names that GET /v1/models lists. @default ["scripted-model"] */
  readonly models?: readonly string[] | undefined;
  /** Keeps whole requests in `requests`, not only their measures. Costs their size in memory. @default false */
  readonly record?: boolean | undefined;
  /** @default a free port of the loopback interface */
  readonly port?: number | undefined;
}

/** What the server did with one request. */
export interface ServedRequest {
  readonly number: number;
  readonly attempt: number;
  readonly stream: boolean;
  readonly messages: number;
  /** Input tokens by the test kit's measure (`countRequestTokens`). */
  readonly tokens: number;
  /** Input tokens at the beginning that an earlier answered request had too. */
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** HTTP status; 0 for a hang. A cut stream has 200. */
  readonly status: number;
  readonly fault?: Fault["kind"] | undefined;
  readonly brokenRule?: BrokenRule | undefined;
  /** Only with `record`. */
  readonly request?: ScriptRequest | undefined;
}

interface Body {
  readonly model?: string;
  readonly messages?: readonly WireMessage[];
  readonly tools?: readonly WireTool[];
  readonly tool_choice?: unknown;
  readonly response_format?: unknown;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

/** An error answer in OpenAI's shape. */
class HttpError extends Error {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    fields: { message: string; type: string; code?: string | null; param?: string | null },
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(fields.message);
    this.status = status;
    this.body = { error: { code: null, param: null, ...fields } };
    this.headers = headers;
  }
}

/**
 * An OpenAI-compatible chat completions server on the loopback interface, without network and without a model.
 *
 * It refuses what strict providers refuse, counts tokens by `countRequestTokens`, reports the prompt cache that a provider
 * would report, and fails as scripted. Ids of answers and calls are unique in the world, as real ones are.
 * `GET /stats` gives `served` as JSON, for a parent process.
 */
export class ScriptedServer {
  /** What was served so far, oldest first. */
  readonly served: ServedRequest[] = [];
  readonly #options: ScriptedServerOptions;
  readonly #script: Script;
  readonly #cache: PrefixCache;
  readonly #server: Server;
  readonly #attempts = new Map<string, number>();
  readonly #boot = randomBytes(6).toString("hex");
  #ids = 0;
  #arrived = 0;

  private constructor(options: ScriptedServerOptions) {
    this.#options = options;
    this.#script = typeof options.script === "function" ? options.script : sequence(options.script);
    this.#cache = new PrefixCache({ minTokens: options.cacheMinTokens });
    this.#server = createServer((request, response) => {
      this.#route(request, response).catch((error) => fail(response, error));
    });
  }

  static async start(options: ScriptedServerOptions): Promise<ScriptedServer> {
    const server = new ScriptedServer(options);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", reject);
      server.#server.listen(options.port ?? 0, "127.0.0.1", () => resolve());
    });
    return server;
  }

  /** Base URL for clients, with `/v1`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Closes at once: open and hanging connections are cut. Safe twice. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?")[0];
    if (request.method === "POST" && path === "/v1/chat/completions")
      return this.#complete(request, response);
    if (request.method === "GET" && path === "/v1/models") {
      const data = (this.#options.models ?? ["scripted-model"]).map((id) => ({
        id,
        object: "model",
        created: 0,
        owned_by: "test-kit",
      }));
      return sendJson(response, 200, { object: "list", data });
    }
    if (request.method === "GET" && path === "/stats") return sendJson(response, 200, this.served);
    throw new HttpError(404, {
      message: `No route ${request.method} ${path}`,
      type: "invalid_request_error",
    });
  }

  async #complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readBody(request);
    const body = parseBody(text);
    const serialised = serialiseRequest(body.messages ?? [], body.tools);
    const arrived = this.#arrive(text, body, countTextTokens(serialised));
    const note = (result: Partial<ServedRequest>) => this.#note(arrived, result);
    const fault = this.#options.fault?.(arrived);
    if (fault?.kind === "hang") return note({ status: 0, fault: "hang" });
    try {
      if (fault?.kind === "status") throw statusError(fault);
      if (fault?.kind === "delay") await delay(fault.ms);
      this.#refuse(arrived, note);
      const cachedTokens = this.#cache.serve(serialised);
      const reply = await this.#script(scriptRequest(body));
      if (reply instanceof Error) throw asHttpError(reply);
      const completion = completionOf(reply, {
        model: body.model ?? "scripted-model",
        created: Math.floor(Date.now() / 1_000),
        promptTokens: arrived.tokens,
        cachedTokens,
        newId: (kind) => `${kind}-${this.#boot}${++this.#ids}`,
      });
      note({
        status: 200,
        cachedTokens,
        outputTokens: completion.usage?.completion_tokens ?? 0,
        fault: fault?.kind,
      });
      if (fault?.kind === "garbage") return garble(response, fault.where, completion, body);
      const cutAfter = fault?.kind === "cut" ? fault.afterChunks : undefined;
      if (body.stream)
        return stream(response, completion, body.stream_options?.include_usage === true, cutAfter);
      if (cutAfter !== undefined) return cut(response);
      sendJson(response, 200, completionBody(completion));
    } catch (error) {
      const { status } = asHttpError(error);
      if (this.served.at(-1)?.number !== arrived.number) note({ status, fault: fault?.kind });
      throw error;
    }
  }

  #arrive(text: string, body: Body, tokens: number): ArrivedRequest {
    const hash = createHash("sha1").update(text).digest("base64");
    const attempt = (this.#attempts.get(hash) ?? 0) + 1;
    this.#attempts.set(hash, attempt);
    return { ...scriptRequest(body), number: ++this.#arrived, attempt, stream: body.stream === true, tokens };
  }

  #refuse(arrived: ArrivedRequest, note: (result: Partial<ServedRequest>) => void): void {
    const { windowTokens, strict } = this.#options;
    if (windowTokens !== undefined && arrived.tokens > windowTokens) {
      throw new HttpError(400, {
        message:
          `This model's maximum context length is ${windowTokens} tokens. However, your messages resulted in ` +
          `${arrived.tokens} tokens. Please reduce the length of the messages.`,
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      });
    }
    const broken = strict === false ? undefined : checkRequest(arrived.messages, strict);
    if (!broken) return;
    note({ status: 400, brokenRule: broken });
    throw new HttpError(400, {
      message: `Rule ${broken.rule} is broken at message ${broken.index}: ${broken.reason}`,
      type: "invalid_request_error",
      param: `messages[${broken.index}]`,
      code: `strict_rule_${broken.rule}`,
    });
  }

  #note(arrived: ArrivedRequest, result: Partial<ServedRequest>): void {
    const { number, attempt, stream, tokens, ...request } = arrived;
    this.served.push({
      number,
      attempt,
      stream,
      tokens,
      messages: request.messages.length,
      cachedTokens: 0,
      outputTokens: 0,
      status: 0,
      ...result,
      ...(this.#options.record ? { request } : {}),
    });
  }
}

function scriptRequest(body: Body): ScriptRequest {
  return {
    messages: body.messages ?? [],
    tools: body.tools ?? [],
    ...(body.tool_choice === undefined ? {} : { toolChoice: body.tool_choice }),
    ...(body.response_format === undefined ? {} : { responseFormat: body.response_format }),
    model: body.model,
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

function parseBody(text: string): Body {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new HttpError(400, { message: "The body is no JSON", type: "invalid_request_error" });
  }
  if (Array.isArray((body as Body | null)?.messages)) return body as Body;
  throw new HttpError(400, {
    message: "Missing required parameter: 'messages'.",
    type: "invalid_request_error",
    param: "messages",
  });
}

function statusError(fault: Extract<Fault, { kind: "status" }>): HttpError {
  const limited = fault.status === 429;
  return new HttpError(
    fault.status,
    {
      message:
        fault.message ?? (limited ? "Rate limit reached, try again later." : `Scripted ${fault.status}`),
      type: limited ? "requests" : fault.status >= 500 ? "server_error" : "invalid_request_error",
      code: fault.code ?? (limited ? "rate_limit_exceeded" : null),
    },
    fault.retryAfterSeconds === undefined ? {} : { "retry-after": String(fault.retryAfterSeconds) },
  );
}

function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const status = (error as { status?: unknown })?.status;
  const message = error instanceof Error ? error.message : String(error);
  return new HttpError(typeof status === "number" ? status : 500, { message, type: "server_error" });
}

function fail(response: ServerResponse, error: unknown): void {
  const { status, body, headers } = asHttpError(error);
  if (response.headersSent) response.destroy();
  else sendJson(response, status, body, headers);
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

function stream(
  response: ServerResponse,
  completion: Completion,
  includeUsage: boolean,
  cutAfter: number | undefined,
): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  let sent = 0;
  for (const chunk of completionChunks(completion, includeUsage)) {
    if (sent++ === cutAfter) break;
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  if (cutAfter === undefined) response.end("data: [DONE]\n\n");
  else cut(response);
}

/** Answers in a way that no client understands. */
function garble(
  response: ServerResponse,
  where: "body" | "json" | "arguments",
  completion: Completion,
  { stream: isStream = false, stream_options }: Body,
): void {
  if (where === "arguments") {
    const half = (text: string) => text.slice(0, Math.max(1, text.length >> 1));
    const toolCalls = completion.toolCalls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: half(call.function.arguments) },
    }));
    const broken = { ...completion, toolCalls };
    if (isStream) stream(response, broken, stream_options?.include_usage === true, undefined);
    else sendJson(response, 200, completionBody(broken));
    return;
  }
  const type = isStream ? "text/event-stream" : "application/json";
  response.writeHead(200, { "content-type": type });
  if (where === "body") {
    response.end("<html><body>Bad gateway</body></html>");
    return;
  }
  const [first, second] = completionChunks(completion, false);
  const cutOff = (value: unknown) => JSON.stringify(value).slice(0, -5);
  if (isStream) response.end(`data: ${JSON.stringify(first)}\n\ndata: ${cutOff(second)}\n\n`);
  else response.end(cutOff(completionBody(completion)));
}

/** Breaks the connection behind what was written so far; the empty write makes sure that it has left. */
function cut(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "application/json" });
  response.write(" ", () => response.destroy());
}

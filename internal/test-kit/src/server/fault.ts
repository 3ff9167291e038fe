import type { ScriptRequest } from "../script/reply.ts";

/** What goes wrong with one request instead of, or during, its answer. */
export type Fault =
  /** An error status: 429 with `retryAfterSeconds`, 500, 503, 401, … in OpenAI's error shape. */
  | {
      readonly kind: "status";
      readonly status: number;
      readonly retryAfterSeconds?: number | undefined;
      readonly message?: string | undefined;
      readonly code?: string | undefined;
    }
  /** The request is taken and never answered, until the client gives up or the server closes. */
  | { readonly kind: "hang" }
  /** The connection breaks after so many streamed chunks; without streaming, after the headers. */
  | { readonly kind: "cut"; readonly afterChunks: number }
  /**
   * Status 200 and no sense: a body that is no JSON (a proxy's page), an answer whose JSON is cut off (streamed: in its second
   * chunk), or tool calls whose arguments are no JSON.
   */
  | { readonly kind: "garbage"; readonly where: "body" | "json" | "arguments" }
  /** The answer comes, but only after so many milliseconds of real time. */
  | { readonly kind: "delay"; readonly ms: number };

/** A request as the fault hook sees it. */
export interface ArrivedRequest extends ScriptRequest {
  /** Position among all requests of this server, from 1. */
  readonly number: number;
  /** How often a request with the same bytes has arrived, this one included: 2 is the first retry. */
  readonly attempt: number;
  readonly stream: boolean;
  readonly tokens: number;
}

export type FaultHook = (request: ArrivedRequest) => Fault | undefined;

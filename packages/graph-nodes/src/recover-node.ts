import { BaseMessage } from "@langchain/core/messages";
import { Command, type NodeError } from "@langchain/langgraph";
import {
  answerOpenCalls,
  classifyError,
  diagnoseError,
  type ErrorClassifier,
  InvalidOptionsError,
  lastCalls,
  oneLine,
} from "@longhaul/core";

export interface RecoverNodeOptions {
  /** Node that goes on after the failing one has been given up: the model, as a rule. */
  readonly goto: string;
  /** Retries of the node before it is given up, ≥ 0. @default 3 */
  readonly retries?: number | undefined;
  /** Your own rules for errors, asked before the built-in ones. @default none */
  readonly classify?: ErrorClassifier | undefined;
}

/** Options of `StateGraph.addNode`. */
export interface RecoverNode {
  readonly retryPolicy: {
    readonly maxAttempts: number;
    readonly initialInterval: number;
    readonly backoffFactor: number;
    readonly maxInterval: number;
    readonly retryOn: (error: unknown) => boolean;
    readonly logWarning: boolean;
  };
  readonly errorHandler: (state: unknown, failed: NodeError) => Command;
}

/**
 * The recovery policy inside a graph, as options of the node that calls tools:
 * `graph.addNode("tools", toolsNode(tools), recoverNode({ goto: "model" }))`.
 *
 * LangGraph retries the node after 1, 5, 25 s (and up to 1 s more; a server's Retry-After is not seen here). When the
 * retries are used up, the calls that have no result are answered with an error, and `goto` is next, so the model can take
 * another way. A fatal error is not retried and fails the run, and so does a failure that left no tool call to answer: both
 * are the matter of `superviseRun`, which this does not replace. It counts nothing beyond one visit of the node, and a
 * process that dies is not its matter either.
 *
 * A retry runs the whole node again; calls with effects need the effect guard (`toolsNode` has it).
 *
 * @throws InvalidOptionsError
 */
export function recoverNode(options: RecoverNodeOptions): RecoverNode {
  const { goto, retries = 3, classify } = options;
  if (typeof goto !== "string" || goto === "") {
    throw new InvalidOptionsError({ option: "goto", value: goto, expected: "the name of a node" });
  }
  if (!Number.isInteger(retries) || retries < 0) {
    throw new InvalidOptionsError({ option: "retries", value: retries, expected: "a whole number ≥ 0" });
  }
  return {
    retryPolicy: {
      maxAttempts: retries + 1,
      initialInterval: 1_000,
      backoffFactor: 5,
      maxInterval: 30_000,
      retryOn: (error) => classifyError(error, classify) !== "fatal",
      logWarning: false,
    },
    errorHandler: (state, { node, error }) => {
      const diagnosis = diagnoseError(error, { custom: classify });
      const { open } = lastCalls(messagesOf(state));
      if (diagnosis.class === "fatal" || open.length === 0) {
        // A new error: LangGraph takes the very error that a handler was called for as handled, and ends the run as if it
        // were done. Plain, so that whoever classifies it looks at its cause.
        throw new Error(`Node ${node} failed: ${error.message}`, { cause: error });
      }
      const messages = answerOpenCalls(open, {
        reason: "gave-up",
        detail: oneLine(`${diagnosis.code}: ${error.message}`),
        now: 0,
      });
      return new Command({ update: { messages }, goto });
    },
  };
}

function messagesOf(state: unknown): BaseMessage[] {
  const { messages } = (state ?? {}) as { readonly messages?: unknown };
  return (Array.isArray(messages) ? messages : []).filter((item): item is BaseMessage =>
    BaseMessage.isInstance(item),
  );
}

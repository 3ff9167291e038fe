import { LonghaulError } from "../errors.ts";
import { redactSecrets } from "../summary/secrets.ts";
import { type Diagnosis, diagnoseError, type ErrorClassifier, type FailureClass } from "./classify-error.ts";

/** A failed attempt, as the run record keeps it for people. Redacted and bounded. */
export interface RunFailure {
  readonly class: FailureClass;
  readonly code: string;
  /** One line, at most 300 characters. */
  readonly message: string;
  /** At most 4,000 characters; absent after a crash. */
  readonly stack?: string | undefined;
  /** Superstep of the checkpoint that the attempt started from, -2 when nothing was saved yet. */
  readonly superstep: number;
  /** Node, and where known the tools, that were running. */
  readonly where: readonly string[];
  /** Milliseconds since 1970. */
  readonly at: number;
}

const MAX_MESSAGE = 300;
const MAX_STACK = 4_000;

/** Describes what was thrown. The message is that of the innermost cause, wrappers tell little. */
export function describeFailure(
  error: unknown,
  context: {
    readonly superstep: number;
    readonly where: readonly string[];
    readonly at: number;
    readonly classify?: ErrorClassifier | undefined;
  },
): { readonly failure: RunFailure; readonly diagnosis: Diagnosis } {
  const diagnosis = diagnoseError(error, { custom: context.classify, now: context.at });
  const stack = (error as { stack?: unknown } | null | undefined)?.stack;
  return {
    diagnosis,
    failure: {
      class: diagnosis.class,
      code: diagnosis.code.slice(0, 100),
      message: oneLine(messageOf(error)),
      ...(typeof stack === "string"
        ? { stack: redactSecrets(stack).slice(0, MAX_STACK).toWellFormed() }
        : {}),
      superstep: context.superstep,
      where: context.where,
      at: context.at,
    },
  };
}

/** The failure of a process that died without a word. */
export function crashFailure(context: {
  readonly superstep: number;
  readonly where: readonly string[];
  readonly at: number;
}): RunFailure {
  return {
    class: "recoverable",
    code: "CRASH",
    message: "The process that drove the run ended without finishing it.",
    superstep: context.superstep,
    where: context.where,
    at: context.at,
  };
}

/** One redacted line without control characters. */
export function oneLine(text: string): string {
  // LangChain appends an address to its messages; it says nothing about this failure.
  const plain = text.replace(/\s*Troubleshooting URL:\s*\S+\s*$/, "");
  const line = redactSecrets(plain)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    .replace(/[\s\u0000-\u001f\u007f]+/g, " ")
    .trim();
  return (line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 1)}…` : line).toWellFormed();
}

function messageOf(error: unknown): string {
  let deepest = error;
  for (let depth = 0; depth < 20; depth++) {
    const { cause, errors } = (deepest ?? {}) as { cause?: unknown; errors?: unknown };
    // Longhaul's own messages say what to do; their causes are details.
    if (LonghaulError.isInstance(deepest)) break;
    const inner = Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
    if (!(inner instanceof Error) || inner.message === "") break;
    deepest = inner;
  }
  const message = (deepest as { message?: unknown } | null | undefined)?.message;
  if (typeof message === "string" && message !== "") return message;
  try {
    return String(error);
  } catch {
    return "unknown error";
  }
}

import { InvalidOptionsError } from "../errors.ts";
import { DEFAULT_SCHEMA_PROMPT, DEFAULT_SYSTEM_PROMPT } from "./summary-prompts.ts";

/** How rolling summaries are made. */
export interface SummaryOptions {
  /** Agent steps in one tier-1 summary. Integer, minimum 1; 5 to 10 is sensible. @default 5 */
  readonly every?: number | undefined;
  /**
   * Longest summary of any tier, in words; CJK characters count as one word each, and a token of more than 24 characters
   * counts for every 24 of them. Integer, minimum 50. @default 300
   */
  readonly maxWords?: number | undefined;
  /** Most outputs in a summary of any tier. Integer, minimum 1. @default 20 */
  readonly maxOutputs?: number | undefined;
  /** Longest wait for one call of the summariser, milliseconds, minimum 1. @default 60_000 */
  readonly timeoutMs?: number | undefined;
  /** Further tries after a failed call. Integer, minimum 0; each is a paid call. @default 1 */
  readonly retries?: number | undefined;
  /**
   * Context window of the summariser in tokens, minimum 2_000. Longer input is summarised in chunks, one call each.
   * @default the model's profile (`maxInputTokens`), else 16_000
   */
  readonly summarizerWindow?: number | undefined;
  /** Longest part of one tool result in the summariser's input, characters, minimum 200. @default 4_000 */
  readonly resultChars?: number | undefined;
  /** Most identifiers that one fold adds to the index. Integer, minimum 0. @default 100 */
  readonly maxIdentifiers?: number | undefined;
  /** Replaces the instructions of the summariser. A changed prompt makes new summaries, it does not reuse stored ones. */
  readonly prompts?: SummaryPrompts | undefined;
  /** Whether a successful call of this tool changed the world; each is pinned in the list of effects. @default none does */
  readonly isEffect?: ((toolName: string) => boolean) | undefined;
}

export interface SummaryPrompts {
  /** What the summariser is and does. @default a built-in text */
  readonly system?: string | undefined;
  /** The form of its answer; must ask for the JSON fields of the built-in one. @default a built-in text */
  readonly schema?: string | undefined;
}

export interface ResolvedSummaryOptions {
  readonly every: number;
  readonly maxWords: number;
  readonly maxOutputs: number;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly summarizerWindow: number | undefined;
  readonly resultChars: number;
  readonly maxIdentifiers: number;
  readonly prompts: { readonly system: string; readonly schema: string };
  readonly isEffect: (toolName: string) => boolean;
}

/** @throws InvalidOptionsError at once for a value that cannot work. */
export function resolveSummaryOptions(options: SummaryOptions = {}): ResolvedSummaryOptions {
  const { prompts, isEffect, summarizerWindow } = options;
  if (isEffect !== undefined && typeof isEffect !== "function") {
    throw new InvalidOptionsError({ option: "summary.isEffect", value: isEffect, expected: "a function" });
  }
  return {
    every: atLeast("every", options.every, 5, 1),
    maxWords: atLeast("maxWords", options.maxWords, 300, 50),
    maxOutputs: atLeast("maxOutputs", options.maxOutputs, 20, 1),
    timeoutMs: atLeast("timeoutMs", options.timeoutMs, 60_000, 1),
    retries: atLeast("retries", options.retries, 1, 0),
    summarizerWindow:
      summarizerWindow === undefined
        ? undefined
        : atLeast("summarizerWindow", summarizerWindow, summarizerWindow, 2_000),
    resultChars: atLeast("resultChars", options.resultChars, 4_000, 200),
    maxIdentifiers: atLeast("maxIdentifiers", options.maxIdentifiers, 100, 0),
    prompts: {
      system: text("prompts.system", prompts?.system, DEFAULT_SYSTEM_PROMPT),
      schema: text("prompts.schema", prompts?.schema, DEFAULT_SCHEMA_PROMPT),
    },
    isEffect: isEffect ?? (() => false),
  };
}

function atLeast(name: string, value: number | undefined, fallback: number, minimum: number): number {
  if (value === undefined) return fallback;
  if (!Number.isInteger(value) || value < minimum) {
    throw new InvalidOptionsError({
      option: `summary.${name}`,
      value,
      expected: `an integer of at least ${minimum}`,
    });
  }
  return value;
}

function text(name: string, value: string | undefined, fallback: string): string {
  if (value === undefined) return fallback;
  if (typeof value !== "string" || value.trim() === "") {
    throw new InvalidOptionsError({ option: `summary.${name}`, value, expected: "a text that is not empty" });
  }
  return value;
}

/** What a model call was for. */
export type CallKind = "turn" | "summary" | "retry" | "judge";

/** Usage of one call, whatever the provider's convention was. */
export interface Usage {
  /** All input tokens: fresh, read from the cache and written to it. */
  readonly input: number;
  readonly output: number;
  /** Part of `input` that was read from the provider's cache. */
  readonly cached: number;
  /** Part of `input` that was written to it. */
  readonly cacheWrite: number;
  /** Part of `output` that was reasoning. */
  readonly reasoning: number;
  /** Part of `input + output` that was estimated. */
  readonly estimated: number;
  /** The provider's figures contradict each other; the dearer reading was taken. */
  readonly suspect: boolean;
}

/** Usage of a call that nobody measured. */
export function estimatedUsage(input: number, output: number): Usage {
  return { input, output, cached: 0, cacheWrite: 0, reasoning: 0, estimated: input + output, suspect: false };
}

/** No context window is near this: a figure above it is a defect of the provider, not a bill. */
const ABSURD = 100_000_000;

interface Reported {
  readonly input: unknown;
  readonly output: unknown;
  readonly cached?: unknown;
  readonly cacheWrite?: unknown;
  readonly reasoning?: unknown;
  /** Cached tokens come on top of `input` (Anthropic, Bedrock), not as a part of it. */
  readonly additive?: boolean;
  /** Reasoning tokens come on top of `output` (Gemini). */
  readonly reasoningApart?: boolean;
}

/**
 * Reads usage once from what a model returned: LangChain's `usage_metadata` where it is there, else the provider's
 * raw block (OpenAI, Anthropic, Gemini, Bedrock, Ollama shapes). What is missing, no number, negative, fractional or absurd
 * is replaced by the estimate, field by field, and marked.
 *
 * @param source an assistant message, or the `llmOutput` of a result
 * @param estimate tokens to use where the provider said nothing usable
 */
export function readUsage(
  source: unknown,
  estimate: { readonly input: number; readonly output: number },
): Usage {
  return normalise(reported(source), estimate);
}

/** Whether there is any usage block in what a model returned. */
export function hasUsage(source: unknown): boolean {
  return reported(source) !== undefined;
}

function normalise(
  given: Reported | undefined,
  estimate: { readonly input: number; readonly output: number },
): Usage {
  // Zero input is impossible, and zero output beside a text means that the stream carried no usage.
  const input = count(given?.input, estimate.input > 0 ? 1 : 0);
  const output = count(given?.output, estimate.output > 0 ? 1 : 0);
  const cached = count(given?.cached ?? 0) ?? 0;
  const cacheWrite = count(given?.cacheWrite ?? 0) ?? 0;
  const reasoning = count(given?.reasoning ?? 0) ?? 0;
  let all = input ?? (cached + cacheWrite > 0 && given?.additive ? 0 : estimate.input);
  let suspect = false;
  if (given?.additive) all += cached + cacheWrite;
  else if (cached + cacheWrite > all) {
    // Said to be a part and yet larger than the whole: then it came on top.
    all += cached + cacheWrite;
    suspect = true;
  }
  const written = (output ?? estimate.output) + (given?.reasoningApart ? reasoning : 0);
  return {
    input: all,
    output: written,
    cached,
    cacheWrite,
    reasoning: Math.min(reasoning, written),
    estimated:
      (input === undefined ? all - (suspect ? cached + cacheWrite : 0) : 0) +
      (output === undefined ? written : 0),
    suspect,
  };
}

function count(value: unknown, atLeast = 0): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= atLeast && value <= ABSURD
    ? value
    : undefined;
}

function reported(source: unknown): Reported | undefined {
  const message = record(source);
  if (!message) return undefined;
  const metadata = record(message.usage_metadata);
  if (metadata) return fromLangChain(metadata);
  const holders = [record(message.response_metadata), message];
  for (const holder of holders) {
    if (!holder) continue;
    for (const name of [
      "usage",
      "tokenUsage",
      "token_usage",
      "estimatedTokenUsage",
      "usageMetadata",
      "usage_metadata",
    ]) {
      const raw = record(holder[name]);
      const usage = raw && (fromLangChainLike(raw) ?? fromRaw(raw));
      if (usage) return usage;
    }
    const usage = fromRaw(holder);
    if (usage) return usage;
  }
  return undefined;
}

function fromLangChain(usage: Record<string, unknown>): Reported {
  const input = record(usage.input_token_details) ?? {};
  const output = record(usage.output_token_details) ?? {};
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: input.cache_read,
    cacheWrite: input.cache_creation,
    reasoning: output.reasoning,
  };
}

function fromLangChainLike(raw: Record<string, unknown>): Reported | undefined {
  return "input_token_details" in raw || "output_token_details" in raw ? fromLangChain(raw) : undefined;
}

function fromRaw(raw: Record<string, unknown>): Reported | undefined {
  if ("prompt_tokens" in raw || "completion_tokens" in raw) {
    return {
      input: raw.prompt_tokens,
      output: raw.completion_tokens,
      cached: record(raw.prompt_tokens_details)?.cached_tokens ?? raw.prompt_cache_hit_tokens,
      reasoning: record(raw.completion_tokens_details)?.reasoning_tokens,
    };
  }
  if ("promptTokens" in raw || "completionTokens" in raw) {
    return { input: raw.promptTokens, output: raw.completionTokens };
  }
  if ("cache_read_input_tokens" in raw || "cache_creation_input_tokens" in raw) {
    return {
      input: raw.input_tokens,
      output: raw.output_tokens,
      cached: raw.cache_read_input_tokens,
      cacheWrite: raw.cache_creation_input_tokens,
      additive: true,
    };
  }
  if ("input_tokens" in raw || "output_tokens" in raw) {
    return {
      input: raw.input_tokens,
      output: raw.output_tokens,
      cached: record(raw.input_tokens_details)?.cached_tokens,
      reasoning: record(raw.output_tokens_details)?.reasoning_tokens,
    };
  }
  if ("promptTokenCount" in raw) {
    return {
      input: raw.promptTokenCount,
      output: raw.candidatesTokenCount,
      cached: raw.cachedContentTokenCount,
      reasoning: raw.thoughtsTokenCount,
      reasoningApart: true,
    };
  }
  if ("inputTokens" in raw) {
    return {
      input: raw.inputTokens,
      output: raw.outputTokens,
      cached: raw.cacheReadInputTokens,
      cacheWrite: raw.cacheWriteInputTokens,
      additive: true,
    };
  }
  if ("prompt_eval_count" in raw) return { input: raw.prompt_eval_count, output: raw.eval_count };
  return undefined;
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}

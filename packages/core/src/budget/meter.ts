import { BaseCallbackHandler, type NewTokenIndices } from "@langchain/core/callbacks/base";
import type { Serialized } from "@langchain/core/load/serializable";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGeneration, LLMResult } from "@langchain/core/outputs";
import { type Deps, withSystemDeps } from "../clock.ts";
import { estimateTokens, measureMessage, measureMessages, measureTools } from "../context/token-measure.ts";
import { InvalidOptionsError } from "../errors.ts";
import { type EventSink, emitter } from "../events/event.ts";
import { messageText } from "../messages/message-text.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import { ActiveTime } from "./active-time.ts";
import { type BudgetOptions, type ResolvedBudget, resolveBudgetOptions } from "./budget-options.ts";
import { type BudgetScope, currentBudgetScope, newSeenCalls } from "./budget-scope.ts";
import { agentOf, declaredKind, modelName } from "./call-metadata.ts";
import { type ModelPrice, priceFor, priceOf } from "./price.ts";
import { reserveIn, settleIn } from "./scope-spending.ts";
import { StreamUsage } from "./stream-usage.ts";
import { type CallKind, estimatedUsage, hasUsage, readUsage, type Usage } from "./usage.ts";

export interface MeterOptions {
  /** Where budgets live, for calls outside any scope. @default none: such calls are not counted */
  readonly storage?: Pick<LonghaulStorage, "budgets"> | undefined;
  /** Prices, for calls outside any scope; inside one its own budget counts. @default the default budget */
  readonly budget?: BudgetOptions | undefined;
  /** Receives a `model.call` event for each call outside a scope. @default none */
  readonly events?: EventSink | undefined;
  readonly deps?: Partial<Deps> | undefined;
}

/** Output tokens assumed for a call that is only starting. */
const EXPECTED_OUTPUT = 500;

/** Name of every meter: LangChain installs a handler of a name once. */
export const METER_NAME = "longhaul_meter";

/**
 * The one place where model calls are counted: a callback handler for `config.callbacks`, or `agent.withConfig`. It sees each
 * call under the run (main turns, summaries, retries, failed streams, subagents, models called by tools), streaming or
 * not, and counts it once: reserved at the start, settled at the end or at the error with what was used until then.
 *
 * A call belongs to the budget scope that is open around it; outside any scope to the run that was opened last on the
 * thread in its metadata. It is awaited, and a storage that fails makes the call fail: a meter that cannot count
 * must not look like one that counted nothing. Calls outside a scope and without a thread are not counted.
 *
 * The kind comes from `metadata.longhaul_kind` or a tag `longhaul:<kind>`; a second call in the scope of one turn is a
 * `retry`. Cost: two small storage writes for a call.
 */
export function longhaulMeter(options: MeterOptions = {}): BaseCallbackHandler {
  return new Meter(options);
}

interface RunningCall {
  readonly scope: BudgetScope;
  readonly id: string;
  readonly kind: CallKind;
  readonly agent: string;
  readonly model: string | undefined;
  readonly price: ModelPrice | undefined;
  readonly inputEstimate: number;
  readonly startedAt: number;
  readonly stream: StreamUsage;
  /** What has been streamed so far, in pieces: measured only if the call fails. */
  readonly streamed: string[];
}

class Meter extends BaseCallbackHandler {
  readonly name: string = METER_NAME;
  readonly #options: MeterOptions;
  readonly #budget: ResolvedBudget;
  readonly #deps: Deps;
  readonly #activity: ActiveTime;
  readonly #calls = new Map<string, RunningCall>();

  constructor(options: MeterOptions) {
    super({});
    if (options.storage !== undefined && typeof options.storage?.budgets?.settle !== "function") {
      throw new InvalidOptionsError({
        option: "storage",
        value: options.storage,
        expected: "a LonghaulStorage",
      });
    }
    this.#options = options;
    this.#budget = resolveBudgetOptions(options.budget);
    this.#deps = withSystemDeps(options.deps);
    this.#activity = new ActiveTime(this.#deps.clock);
    this.awaitHandlers = true;
    this.raiseError = true;
    this.ignoreChain = true;
    this.ignoreAgent = true;
    this.ignoreRetriever = true;
    this.ignoreCustomEvent = true;
  }

  /** One meter has one table of running calls, so a copy is the meter itself. */
  override copy(): BaseCallbackHandler {
    return this;
  }

  override async handleChatModelStart(
    _llm: Serialized,
    messages: BaseMessage[][],
    runId: string,
    _parentRunId?: string,
    extraParams?: Record<string, unknown>,
    tags?: string[],
    metadata?: Record<string, unknown>,
  ): Promise<void> {
    const tools = (extraParams?.invocation_params as { tools?: unknown } | undefined)?.tools;
    const estimate = measureMessages(messages.flat()) + measureTools(Array.isArray(tools) ? tools : []);
    await this.#start(runId, estimate, extraParams, tags, metadata);
  }

  override async handleLLMStart(
    _llm: Serialized,
    prompts: string[],
    runId: string,
    _parentRunId?: string,
    extraParams?: Record<string, unknown>,
    tags?: string[],
    metadata?: Record<string, unknown>,
  ): Promise<void> {
    await this.#start(runId, estimateTokens(prompts.join("\n")), extraParams, tags, metadata);
  }

  override handleLLMNewToken(
    token: string,
    _idx: NewTokenIndices,
    runId: string,
    _parentRunId?: string,
    _tags?: string[],
    fields?: { readonly chunk?: unknown },
  ): void {
    const call = this.#calls.get(runId);
    if (!call) return;
    const message = (fields?.chunk as { message?: BaseMessage } | undefined)?.message;
    call.streamed.push(message ? chunkText(message) : token);
    if (message) call.stream.see(message);
  }

  override async handleLLMEnd(output: LLMResult, runId: string): Promise<void> {
    const call = this.#take(runId);
    if (!call) return;
    const answer = (output.generations[0]?.[0] as ChatGeneration | undefined)?.message;
    const text = output.generations[0]?.[0]?.text ?? "";
    const estimate = {
      input: call.inputEstimate,
      output: answer ? measureMessage(answer) : estimateTokens(text),
    };
    const source = answer && hasUsage(answer) ? answer : (output.llmOutput ?? answer);
    // The final message of a stream of running totals is their sum; the stream itself knows better.
    const usage =
      call.stream.isCumulative() && call.stream.total() !== undefined
        ? readUsage(usageMetadata(call.stream.total() as Usage), estimate)
        : readUsage(source, estimate);
    await this.#settle(call, usage, "ok");
  }

  override async handleLLMError(error: unknown, runId: string): Promise<void> {
    const call = this.#take(runId);
    if (!call) return;
    await this.#settle(call, usageOfFailure(call, error), "error");
  }

  async #start(
    runId: string,
    estimate: number,
    extraParams: Record<string, unknown> | undefined,
    tags: readonly string[] | undefined,
    metadata: Readonly<Record<string, unknown>> | undefined,
  ): Promise<void> {
    const scope = currentBudgetScope() ?? (await this.#outerScope(metadata));
    if (!scope) return;
    const declared = declaredKind(tags, metadata);
    const { seen, reservation } = scope;
    const takesOver = declared === undefined && reservation !== undefined && !seen.claimed;
    const kind = declared ?? (reservation !== undefined && seen.claimed ? "retry" : "turn");
    seen.started += 1;
    if (takesOver) seen.claimed = true;
    const model = modelName(extraParams, metadata);
    const price = priceFor(scope.budget, model);
    const call: RunningCall = {
      scope,
      id: takesOver ? reservation : runId,
      kind,
      agent: agentOf(metadata),
      model,
      price,
      inputEstimate: estimate,
      startedAt: this.#deps.clock.monotonic(),
      stream: new StreamUsage(),
      streamed: [],
    };
    this.#calls.set(runId, call);
    // The scope's reservation stands already; every other call, admitted or not, is on its way: it is only counted.
    if (!takesOver) {
      const expected = estimatedUsage(estimate, EXPECTED_OUTPUT);
      const tokens = expected.input + expected.output;
      const cost = price ? priceOf(expected, price) : 0;
      await reserveIn(scope, { id: call.id, tokens, cost, kind, agent: call.agent }, { checked: false });
    }
  }

  #take(runId: string): RunningCall | undefined {
    const call = this.#calls.get(runId);
    this.#calls.delete(runId);
    return call;
  }

  async #settle(call: RunningCall, usage: Usage, outcome: "ok" | "error"): Promise<void> {
    const { scope, kind, agent, model } = call;
    const cost = call.price ? priceOf(usage, call.price) : 0;
    const unmeasured = outcome === "ok" && usage.estimated > 0;
    if (outcome === "ok" && (kind === "turn" || kind === "retry")) scope.seen.turnInput = usage.input;
    await settleIn(scope, call.id, { usage, cost, kind, agent, unmeasured });
    if (unmeasured && scope.budget.strict)
      scope.emit({ type: "budget.unmeasured", run: scope.key.run, model });
    scope.emit({
      type: "model.call",
      run: scope.key.run,
      kind,
      agent,
      model,
      inputTokens: usage.input,
      outputTokens: usage.output,
      cachedTokens: usage.cached,
      reasoningTokens: usage.reasoning,
      cost,
      ms: this.#deps.clock.monotonic() - call.startedAt,
      outcome,
      estimatedTokens: usage.estimated,
    });
  }

  /** What a call outside any scope belongs to: the open run of its thread. */
  async #outerScope(
    metadata: Readonly<Record<string, unknown>> | undefined,
  ): Promise<BudgetScope | undefined> {
    const thread = metadata?.thread_id;
    const ledger = this.#options.storage?.budgets;
    if (!ledger || typeof thread !== "string") return undefined;
    const named = metadata?.longhaul_run;
    const run = typeof named === "string" ? named : ((await ledger.currentRun(thread)) ?? `${thread}:1`);
    const namespace = typeof metadata?.checkpoint_ns === "string" ? metadata.checkpoint_ns : "";
    return {
      ledger,
      key: { thread, run },
      budget: this.#budget,
      activity: this.#activity,
      emit: emitter(this.#options.events, () => ({
        time: this.#deps.clock.now(),
        threadId: thread,
        namespace,
      })),
      seen: newSeenCalls(),
    };
  }
}

/**
 * What a failed call used: what its stream reported, else an estimate of what was sent and received. A refusal by status code,
 * or a connection that never was, used nothing.
 */
function usageOfFailure(call: RunningCall, error: unknown): Usage {
  const streamedTokens = estimateTokens(call.streamed.join(""));
  const reported = call.stream.total();
  if (reported) {
    const missing = reported.output === 0 ? streamedTokens : 0;
    return { ...reported, output: reported.output + missing, estimated: missing };
  }
  if (call.streamed.length > 0) return estimatedUsage(call.inputEstimate, streamedTokens);
  return isAbort(error) ? estimatedUsage(call.inputEstimate, 0) : estimatedUsage(0, 0);
}

/** Text and pieces of tool calls in a chunk. */
function chunkText(message: BaseMessage): string {
  const { tool_call_chunks: calls = [] } = message as {
    tool_call_chunks?: { name?: string; args?: string }[];
  };
  return messageText(message) + calls.map(({ name = "", args = "" }) => name + args).join("");
}

/** An abort or a time-out comes after the request was sent: its input is billed. */
function isAbort(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return name === "AbortError" || name === "TimeoutError" || code === "ABORT_ERR" || code === "ETIMEDOUT";
}

function usageMetadata(usage: Usage): unknown {
  return {
    usage_metadata: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      input_token_details: { cache_read: usage.cached, cache_creation: usage.cacheWrite },
      output_token_details: { reasoning: usage.reasoning },
    },
  };
}

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  AIMessageChunk,
  type AIMessageFields,
  type BaseMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { PrefixCache } from "../script/prefix-cache.ts";
import { type Reply, type ReplyParts, replyParts, type Script, sequence } from "../script/reply.ts";
import { countTextTokens, serialiseRequest } from "../wire/count-tokens.ts";
import { toWire, type WireTool } from "../wire/wire-message.ts";
import { checkRequest, type StrictOptions, StrictRuleError } from "./strict-rules.ts";

export interface StrictChatModelOptions extends Omit<StrictOptions, "tools" | "originals"> {
  /** The mind: a function of the request, or replies in turn. */
  readonly script: Script | readonly (Reply | Script)[];
  /** Messages with signed blocks that the provider gave before this model object was made, for rule 7. */
  readonly originals?: readonly BaseMessage[] | undefined;
  /** @default "strict-model" */
  readonly name?: string | undefined;
  /** What `model.profile` says, e.g. `{ maxInputTokens: 32_000, structuredOutput: true }`. @default {} */
  readonly profile?: Readonly<Record<string, unknown>> | undefined;
  /** @default true */
  readonly reportUsage?: boolean | undefined;
  /** Shared by several models to have one provider's cache. @default a fresh one that counts matches of any length */
  readonly cache?: PrefixCache | undefined;
}

/** One request as the model got it. */
export interface RecordedRequest {
  readonly messages: readonly BaseMessage[];
  readonly tools: readonly WireTool[];
  /** Input tokens by the test kit's measure. */
  readonly tokens: number;
  readonly cachedTokens: number;
  /** Absent while the script runs, and when it failed. */
  readonly answer?: AIMessage;
}

interface CallOptions extends BaseChatModelCallOptions {
  readonly tools?: BindToolsInput[];
  readonly response_format?: unknown;
}

/**
 * A chat model inside the process whose answers come from a script, and which refuses what a provider would refuse: a
 * request that breaks a rule of `checkRequest` throws StrictRuleError. It records every request, streams when asked to,
 * and reports usage. One object may serve parallel calls.
 */
export class StrictChatModel extends BaseChatModel<CallOptions> {
  readonly requests: RecordedRequest[] = [];
  readonly modelName: string;
  readonly #options: StrictChatModelOptions;
  readonly #script: Script;
  readonly #cache: PrefixCache;
  readonly #answers: AIMessage[] = [];
  #calls = 0;

  constructor(options: StrictChatModelOptions) {
    super({});
    this.#options = options;
    this.#script = typeof options.script === "function" ? options.script : sequence(options.script);
    this.#cache = options.cache ?? new PrefixCache({ minTokens: 0 });
    this.modelName = options.name ?? "strict-model";
  }

  override get profile(): Record<string, unknown> {
    return { ...this.#options.profile };
  }

  override _llmType(): string {
    return "strict";
  }

  override bindTools(tools: BindToolsInput[], kwargs?: Partial<CallOptions>): Runnable {
    return this.withConfig({ ...kwargs, tools } as Partial<CallOptions>);
  }

  /** Tokens of all requests so far. */
  get inputTokens(): number {
    return this.requests.reduce((sum, request) => sum + request.tokens, 0);
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const message = await this.#answer(messages, options);
    const text = typeof message.content === "string" ? message.content : "";
    return { generations: [{ message, text }], llmOutput: { tokenUsage: message.usage_metadata ?? {} } };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const chunk of chunksOf(await this.#answer(messages, options))) {
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  async #answer(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<AIMessage> {
    const tools = (options.tools ?? []).map((tool) => convertToOpenAITool(tool) as WireTool);
    const text = serialiseRequest(messages, tools);
    const record: { -readonly [K in keyof RecordedRequest]: RecordedRequest[K] } = {
      messages: [...messages],
      tools,
      tokens: countTextTokens(text),
      cachedTokens: 0,
    };
    this.requests.push(record);
    const broken = checkRequest(messages, {
      ...this.#options,
      tools,
      originals: [...(this.#options.originals ?? []), ...this.#answers],
    });
    if (broken) throw new StrictRuleError(broken);
    record.cachedTokens = this.#cache.serve(text);
    const reply = await this.#script({
      messages: messages.map(toWire),
      tools,
      toolChoice: options.tool_choice,
      responseFormat: options.response_format,
      model: this.modelName,
    });
    options.signal?.throwIfAborted();
    if (reply instanceof Error) throw reply;
    const message = this.#message(reply, record);
    record.answer = message;
    this.#answers.push(message);
    return message;
  }

  #message(reply: Exclude<Reply, Error>, record: RecordedRequest): AIMessage {
    const parts = replyParts(reply);
    const call = this.#calls++;
    const usage = this.#options.reportUsage === false ? undefined : usageOf(parts, record);
    const own = AIMessage.isInstance(reply) ? (reply as AIMessage) : undefined;
    return new AIMessage({
      content: parts.content ?? "",
      tool_calls: (parts.toolCalls ?? []).map((toolCall, i) => ({
        type: "tool_call" as const,
        name: toolCall.name,
        args: { ...toolCall.args },
        id: toolCall.id ?? `call_${call}_${i}`,
      })),
      ...(own?.id === undefined ? {} : { id: own.id }),
      ...(own?.invalid_tool_calls === undefined ? {} : { invalid_tool_calls: own.invalid_tool_calls }),
      additional_kwargs: { ...own?.additional_kwargs },
      response_metadata: {
        model_name: this.modelName,
        finish_reason: parts.finishReason ?? (parts.toolCalls?.length ? "tool_calls" : "stop"),
        ...own?.response_metadata,
      },
      ...(usage ? { usage_metadata: usage } : {}),
      // The library's type of `usage_metadata` resolves to never for the default message structure.
    } as unknown as AIMessageFields);
  }
}

function usageOf(parts: ReplyParts, record: RecordedRequest): UsageMetadata | undefined {
  if (parts.usage === null) return undefined;
  const output = `${JSON.stringify(parts.content ?? "")}${JSON.stringify(parts.toolCalls ?? "")}`;
  const input_tokens = parts.usage?.inputTokens ?? record.tokens;
  const output_tokens = parts.usage?.outputTokens ?? countTextTokens(output);
  return {
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
    input_token_details: { cache_read: parts.usage?.cachedTokens ?? record.cachedTokens },
    ...(parts.usage?.reasoningTokens === undefined
      ? {}
      : { output_token_details: { reasoning: parts.usage.reasoningTokens } }),
  };
}

/** Words of the text, each call in two pieces, then usage: enough to find code that assembles chunks wrongly. */
function* chunksOf(message: AIMessage): Generator<ChatGenerationChunk> {
  const shared = message.id === undefined ? {} : { id: message.id };
  const texts =
    typeof message.content === "string" ? (message.content.match(/\s*\S+\s*$|\s*\S+/g) ?? []) : [];
  for (const text of texts) yield chunk(new AIMessageChunk({ ...shared, content: text }), text);
  if (typeof message.content !== "string" && message.content.length > 0) {
    yield chunk(new AIMessageChunk({ ...shared, content: message.content }), "");
  }
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const args = JSON.stringify(call.args);
    const half = Math.floor(args.length / 2);
    const head = { type: "tool_call_chunk" as const, index, name: call.name, args: args.slice(0, half) };
    yield chunk(
      new AIMessageChunk({
        ...shared,
        content: "",
        tool_call_chunks: [call.id === undefined ? head : { ...head, id: call.id }],
      }),
      "",
    );
    yield chunk(
      new AIMessageChunk({
        ...shared,
        content: "",
        tool_call_chunks: [{ type: "tool_call_chunk", index, args: args.slice(half) }],
      }),
      "",
    );
  }
  yield chunk(
    new AIMessageChunk({
      ...shared,
      content: "",
      additional_kwargs: message.additional_kwargs,
      response_metadata: message.response_metadata,
      ...(message.usage_metadata ? { usage_metadata: message.usage_metadata } : {}),
    }),
    "",
  );
}

function chunk(message: AIMessageChunk, text: string): ChatGenerationChunk {
  return new ChatGenerationChunk({ message, text });
}

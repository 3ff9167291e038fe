import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  type ContextOptions,
  createRecallTool,
  currentEmitter,
  isContextOverflow,
  type LonghaulValues,
  memoryStorage,
  meterCallbacks,
  nodeConfig,
  prepareContext,
  profileWindow,
  resolveContextOptions,
  takeNotices,
  threadIdOf,
  withSystemDeps,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { channelSchema } from "./shared/channels.ts";
import { answerOf, commitModelCall, type ModelCallResult } from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";

export interface ContextMiddlewareOptions extends ContextOptions, CommonOptions {
  /** Model that writes summaries; a cheaper one than the agent's will do. @default none: summaries are made by rule, offline */
  readonly summarizer?: BaseChatModel | undefined;
}

/**
 * Keeps the request of every model call small and on course: the goal verbatim first, then memory (rolling summaries, index,
 * checkpoint), then the current steps. `messages` in the state stay as they are; what the model sees is computed from them.
 *
 * It brings the tool `recall`, with which the model reads what has left the view.
 *
 * Place in the chain: innermost of Longhaul's, so that notices of the others stand at the end of the request. It replaces the
 * messages that outer middleware gives it and leaves system prompt, tools and structured output alone.
 *
 * Replay and resume: same state, same bytes. Summaries are in the artifact store before the model is called; after a crash they are
 * found there. The channels `_longhaulTask` and `_longhaulMemory` are committed together with the answer.
 *
 * @throws InvalidOptionsError at once; at a call GoalTooLargeError, RequestTooLargeError, StateFormatError
 */
export function contextMiddleware(options: ContextMiddlewareOptions = {}) {
  const resolved = resolveContextOptions(options);
  const deps = withSystemDeps(options.deps);
  const storage = options.storage ?? memoryStorage(deps);

  return createMiddleware({
    name: "LonghaulContext",
    tools: [createRecallTool({ artifacts: storage.artifacts, name: resolved.recallTool })],
    stateSchema: channelSchema(
      "_longhaulTask",
      "_longhaulMemory",
      "_longhaulData",
      "_longhaulProgress",
      "_longhaulBudget",
    ),
    wrapModelCall: async (request, handler) => {
      const { messages, notices } = takeNotices(request.messages);
      let prepared = await prepareContext(
        {
          state: { ...(request.state as LonghaulValues), messages },
          thread: threadIdOf(nodeConfig()),
          system: request.systemMessage,
          prependSystem: false,
          tools: [...request.tools, ...schemasOf(request.responseFormat)],
          notices,
          profileWindow: profileWindow(request.model),
        },
        resolved,
        {
          artifacts: storage.artifacts,
          summarizer: options.summarizer,
          callbacks: meterCallbacks(),
          emit: currentEmitter(options.events, deps.clock),
          deps,
          signal: request.runtime.signal,
        },
      );
      const call = async () =>
        (await handler({ ...request, messages: prepared.view.messages })) as ModelCallResult;
      let result: ModelCallResult;
      try {
        result = await call();
      } catch (error) {
        if (!isContextOverflow(error)) throw error;
        prepared = await prepared.afterOverflow();
        result = await call();
      }
      return commitModelCall(result, prepared.settle(answerOf(result)?.usage_metadata));
    },
  });
}

/** Schemas of structured output are sent with the request, as a tool or beside it. */
function schemasOf(responseFormat: unknown): object[] {
  const formats: readonly unknown[] = Array.isArray(responseFormat) ? responseFormat : [responseFormat];
  return formats.flatMap((format) => {
    if (typeof format !== "object" || format === null) return [];
    const { tool, schema } = format as { tool?: unknown; schema?: unknown };
    const sent = tool ?? schema;
    return typeof sent === "object" && sent !== null ? [sent] : [];
  });
}

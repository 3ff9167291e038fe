import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { UsageMetadata } from "@langchain/core/messages";
import type { ChatGeneration, LLMResult } from "@langchain/core/outputs";
import type { CountedCall } from "../../shared/token-costs.ts";

/** Tells the prompt tokens of each model call as the endpoint reports them. For an agent that has no meter of Longhaul's. */
export function countCalls(tell: (call: CountedCall) => void): BaseCallbackHandler {
  return BaseCallbackHandler.fromMethods({
    handleLLMEnd({ generations }: LLMResult) {
      const message = (generations[0]?.[0] as ChatGeneration | undefined)?.message;
      const usage = (message as { usage_metadata?: UsageMetadata } | undefined)?.usage_metadata;
      tell({
        inputTokens: usage?.input_tokens ?? 0,
        cachedTokens: usage?.input_token_details?.cache_read ?? 0,
      });
    },
  });
}

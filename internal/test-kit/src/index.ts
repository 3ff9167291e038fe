// Deps
export { type FakeClock, type FakeClockOptions, fakeClock } from "./deps/fake-clock.ts";
export { countingIds, seededRandom } from "./deps/seeded.ts";

// Scripts
export { PrefixCache, type PrefixCacheOptions } from "./script/prefix-cache.ts";
export {
  callTools,
  type Reply,
  type ReplyParts,
  type ReplyToolCall,
  type ReplyUsage,
  replyParts,
  type Script,
  ScriptExhaustedError,
  type ScriptRequest,
  sequence,
} from "./script/reply.ts";

// Strict provider
export { signedParts } from "./strict/signed-parts.ts";
export {
  type RecordedRequest,
  StrictChatModel,
  type StrictChatModelOptions,
} from "./strict/strict-chat-model.ts";
export {
  BASELINE_EXEMPTIONS,
  type BrokenRule,
  checkRequest,
  type StrictOptions,
  type StrictRule,
  StrictRuleError,
} from "./strict/strict-rules.ts";

// Wire
export {
  type CountTokens,
  countRequestTokens,
  countTextTokens,
  IMAGE_TOKENS,
  serialiseRequest,
} from "./wire/count-tokens.ts";
export {
  toWire,
  type WireMessage,
  type WirePart,
  type WireTool,
  type WireToolCall,
  wireText,
} from "./wire/wire-message.ts";

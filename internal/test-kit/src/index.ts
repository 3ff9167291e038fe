// Deps

// Crashes
export {
  CRASH_VARIABLE,
  type CrashOptions,
  type CrashPlan,
  type CrashPoint,
  CrashPoints,
  crashNow,
  crashPlanFromEnv,
  type EffectWrite,
  parseCrashPlan,
} from "./crash/crash-points.ts";
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
// Server
export type { ArrivedRequest, Fault, FaultHook } from "./server/fault.ts";
export { ScriptedServer, type ScriptedServerOptions, type ServedRequest } from "./server/scripted-server.ts";
export { type ServerProcess, startServerProcess, TYPESCRIPT_ARGS } from "./server/server-process.ts";
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

// World
export {
  type BusinessCount,
  type EffectOutcome,
  type EffectReport,
  type EffectRequest,
  KeyConflictError,
  ToolWorld,
} from "./world/tool-world.ts";

// One section per concern, in alphabetical order of folder; explicit names only.

// artifacts
export { ARTIFACT_REF_PATTERN, artifactRef } from "./artifacts/artifact-ref.ts";
export { type OffloadResult, offloadText, shortenText } from "./artifacts/offload.ts";
export { type RecallArgs, type RecallSources, recall } from "./artifacts/recall.ts";
export { createRecallTool, type RecallToolOptions } from "./artifacts/recall-tool.ts";

// budget
export { BudgetLedger } from "./budget/budget-ledger.ts";
export type { BudgetLevel, BudgetMirror, BudgetTotals } from "./budget/budget-state.ts";

// clock and errors
export { type Clock, type Deps, systemClock, systemDeps, withSystemDeps } from "./clock.ts";
// context
export {
  type BuildContextOptions,
  buildContext,
  type ContextTokens,
  type ContextView,
} from "./context/build-context.ts";
export { GoalTooLargeError, RequestTooLargeError } from "./context/context-errors.ts";
export {
  type ContextLimits,
  type ContextOptions,
  PROHIBITION_PATTERN,
  type ResolvedContextOptions,
  resolveContextOptions,
} from "./context/context-options.ts";
export type { ContextState, RequestParts } from "./context/context-state.ts";
export type { FoldDeps } from "./context/fold.ts";
export { type FoldPressure, foldPressure } from "./context/fold-pressure.ts";
export type { KeyData } from "./context/key-data.ts";
export { type MemoryState, readMemoryState } from "./context/memory-state.ts";
export { meterCallbacks } from "./context/meter-callbacks.ts";
export { type PreparedContext, type PrepareInput, prepareContext } from "./context/prepare-context.ts";
export { readTaskState, type TaskState } from "./context/task-state.ts";
export { estimateTokens, measureMessages, measureTools } from "./context/token-measure.ts";
export type { LeftResult } from "./context/working-view.ts";
// effects
export { EffectLedger } from "./effects/effect-ledger.ts";
export {
  hasErrorCode,
  InvalidOptionsError,
  LonghaulError,
  MissingPeerError,
  StateFormatError,
} from "./errors.ts";

// events
export {
  type Emit,
  type EventBody,
  type EventOrigin,
  type EventSink,
  emitter,
  type LonghaulEvent,
} from "./events/event.ts";

// json
export { canonicalJson, digest, digestText, NotCanonicalError } from "./json/canonical-json.ts";
export type { Json, JsonObject } from "./json/json.ts";

// loops
export type { LoopState } from "./loops/loop-state.ts";

// messages
export {
  elementKey,
  type GroupCall,
  groupMessages,
  isAssistant,
  type MessageGroup,
} from "./messages/groups.ts";
export { messageText } from "./messages/message-text.ts";
export {
  appendNotice,
  fence,
  isNoticeOnly,
  type Notice,
  renderNotices,
  takeNotices,
  withNotices,
} from "./messages/notices.ts";
export { validRequest } from "./messages/valid-request.ts";

// progress
export {
  mergeProgress,
  type ProgressCheckpoint,
  type ProgressFact,
  type ProgressState,
} from "./progress/progress-state.ts";

// recovery
export { LeaseStore } from "./recovery/lease-store.ts";
export { RunStore } from "./recovery/run-store.ts";

// run
export type { RunState, RunStatus, StopReason } from "./run/run-state.ts";
export { readSeal, type Seal, sealed, sealMessage } from "./run/seal.ts";

// state
export { type ChannelField, channelField } from "./state/channel-fields.ts";
export { CHANNEL_REDUCERS } from "./state/channel-reducers.ts";
export { CHANNEL_DESCRIPTIONS, type LonghaulChannel, type LonghaulValues } from "./state/channels.ts";

export { taskInput } from "./state/task-input.ts";

// storage
export type { Artifact, ArtifactMeta, ArtifactStore } from "./storage/artifact-store.ts";
export { createStorage, type LonghaulStorage } from "./storage/longhaul-storage.ts";
export { MemoryArtifactStore, MemoryRecordStore, memoryStorage } from "./storage/memory-storage.ts";
export type {
  CompareAndSetResult,
  RecordKey,
  RecordStore,
  StoredRecord,
  WriteOptions,
} from "./storage/record-store.ts";

// summary
export { type AuditOptions, auditSummary, type SummaryAudit } from "./summary/audit-summary.ts";
export { summariseExtractively } from "./summary/extractive-summarizer.ts";
export type { SummaryLimits } from "./summary/fit-summary.ts";
export {
  findIdentifiers,
  type Identifier,
  type IdentifierKind,
  scanIdentifiers,
} from "./summary/identifiers.ts";
export { looksLikeSecret, redactSecrets } from "./summary/secrets.ts";
export { type KeyOutput, readSummary, renderSummary, type StepSummary } from "./summary/step-summary.ts";
export {
  type SummarizeDeps,
  type SummarizeInput,
  type SummarizeOutcome,
  summarizeGroups,
} from "./summary/summarize-groups.ts";
export type { SummaryEvent, SummaryFailure } from "./summary/summary-events.ts";
export {
  type ResolvedSummaryOptions,
  resolveSummaryOptions,
  type SummaryOptions,
  type SummaryPrompts,
} from "./summary/summary-options.ts";
export { renderTranscript, type TranscriptOptions } from "./summary/transcript.ts";

// tools

// One section per concern, in alphabetical order of folder; explicit names only.

// artifacts
export { ARTIFACT_REF_PATTERN, artifactRef } from "./artifacts/artifact-ref.ts";

// budget
export { BudgetContentionError, BudgetTooSmallError } from "./budget/budget-errors.ts";
export type { BudgetEvent } from "./budget/budget-events.ts";
export {
  BudgetKeeper,
  type KeeperParts,
  type ModelCallInput,
  type PlannedCall,
} from "./budget/budget-keeper.ts";
export {
  type Admission,
  type AdmissionRule,
  type BudgetKey,
  BudgetLedger,
  type Wanted,
} from "./budget/budget-ledger.ts";
export { type EndCause, stopReasonOf, toolCallRefusal } from "./budget/budget-notices.ts";
export {
  type BudgetLimits,
  type BudgetOptions,
  type BudgetPhase,
  type ResolvedBudget,
  resolveBudgetOptions,
} from "./budget/budget-options.ts";
export type { BudgetRecord, Reservation, Settlement } from "./budget/budget-record.ts";
export { budgetRunOf, humanTurns } from "./budget/budget-run.ts";
export { type BudgetScope, currentBudgetScope } from "./budget/budget-scope.ts";
export {
  type BudgetLevel,
  type BudgetLimitName,
  type BudgetMirror,
  type BudgetReport,
  type BudgetTotals,
  budgetOf,
  readBudgetMirror,
} from "./budget/budget-state.ts";
export type { StepPlan } from "./budget/budget-step.ts";
export { estimateTokens } from "./budget/estimate-tokens.ts";
export type { GraphPlace } from "./budget/graph-rooms.ts";
export { agentOf, longhaulMeter, type MeterOptions } from "./budget/meter.ts";
export type { ModelPrice } from "./budget/price.ts";
export { fitsBudget } from "./budget/scope-spending.ts";
export { stopReport } from "./budget/stop-report.ts";
export { type CallKind, readUsage, type Usage } from "./budget/usage.ts";

// clock and errors
export { type Clock, type Deps, systemClock, systemDeps, withSystemDeps } from "./clock.ts";
// context
export type { KeyData } from "./context/key-data.ts";
export type { MemoryState } from "./context/memory-state.ts";
export type { TaskState } from "./context/task-state.ts";
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
export { jsonlSink, type LineStream } from "./events/jsonl-sink.ts";
export { type MeterLike, type OtelSinkOptions, otelSink, type TracerLike } from "./events/otel-sink.ts";
export { type RedactLimits, redact, redactText } from "./events/redact.ts";
export { allSinks, streamSink } from "./events/stream-sink.ts";

// json
export { canonicalJson, digest, digestText, NotCanonicalError } from "./json/canonical-json.ts";
export type { Json, JsonObject } from "./json/json.ts";

// loops
export type { LoopState } from "./loops/loop-state.ts";

// messages
export { elementKey, groupMessages, isAssistant, type MessageGroup } from "./messages/groups.ts";
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
export { ForbiddenMoveError } from "./run/run-errors.ts";
export type { RunEvent } from "./run/run-events.ts";
export { assertPermitted, canMove, move, permits, type RunAction } from "./run/run-machine.ts";
export { type RunState, type RunStatus, readRunState, type StopReason } from "./run/run-state.ts";
export { beginStep, endStep, type ResumeNotice, readResumeNotice } from "./run/run-step.ts";
export { latestAnswer, readSeal, type Seal, sealed, sealMessage } from "./run/seal.ts";

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
export type { KeyOutput, StepSummary } from "./summary/step-summary.ts";

// tools

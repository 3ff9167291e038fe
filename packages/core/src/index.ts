// shared by all

// artifacts
export { ARTIFACT_REF_PATTERN, artifactRef } from "./artifacts/artifact-ref.ts";
export { type OffloadResult, offloadText, shortenText } from "./artifacts/offload.ts";
export { type RecallArgs, type RecallSources, recall } from "./artifacts/recall.ts";
export { createRecallTool, type RecallToolOptions } from "./artifacts/recall-tool.ts";
// budget
export { BudgetContentionError, BudgetTooSmallError } from "./budget/budget-errors.ts";
export type { BudgetEvent } from "./budget/budget-events.ts";
export {
  BudgetKeeper,
  type KeeperParts,
  type ModelCallInput,
  type PlannedCall,
  type ToolCallInput,
} from "./budget/budget-keeper.ts";
export {
  type Admission,
  type AdmissionRule,
  type BudgetKey,
  BudgetLedger,
  type Wanted,
} from "./budget/budget-ledger.ts";
export { type EndCause, stopReasonOf } from "./budget/budget-notices.ts";
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
export { CALL_KIND_KEY } from "./budget/call-metadata.ts";
export { budgetReport, budgetSeal, closeAnswer, endCause } from "./budget/closing-answer.ts";
export {
  createBudgetKeeper,
  modelCallOf,
  refusedCall,
  toolCallOf,
} from "./budget/create-budget-keeper.ts";
export { type Degradable, degradeRequest } from "./budget/degrade-request.ts";
export type { GraphPlace } from "./budget/graph-rooms.ts";
export { longhaulMeter, type MeterOptions } from "./budget/meter.ts";
export type { ModelPrice } from "./budget/price.ts";
export { fitsBudget } from "./budget/scope-spending.ts";
export { stopReport } from "./budget/stop-report.ts";
export { type CallKind, readUsage, type Usage } from "./budget/usage.ts";
export { type Clock, type Deps, systemClock, systemDeps, withSystemDeps } from "./clock.ts";
// context
export {
  type BuildContextOptions,
  buildContext,
  type ContextTokens,
  type ContextView,
} from "./context/build-context.ts";
export { GoalTooLargeError, RequestTooLargeError } from "./context/context-errors.ts";
export { contextFor } from "./context/context-for.ts";
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
export { type KeyData, keepData, readKeyData } from "./context/key-data.ts";
export { type MemoryState, readMemoryState } from "./context/memory-state.ts";
export { meterCallbacks } from "./context/meter-callbacks.ts";
export { modelNameOf, profileWindow } from "./context/model-profile.ts";
export {
  isContextOverflow,
  type PreparedContext,
  type PrepareInput,
  prepareContext,
} from "./context/prepare-context.ts";
export { readTaskState, type TaskState } from "./context/task-state.ts";
export { calibrate, estimateTokens, measureMessages, measureTools } from "./context/token-measure.ts";
export type { LeftResult } from "./context/working-view.ts";
// effects
export type { EffectQuestion } from "./effects/ask-human.ts";
export { type CurrentEffect, currentEffect } from "./effects/current-effect.ts";
export {
  BypassedGuardError,
  EffectConflictError,
  EffectLedgerError,
  EffectOpenError,
  EffectStateError,
  NoCurrentEffectError,
  SharedFailureError,
} from "./effects/effect-errors.ts";
export type { EffectEvent } from "./effects/effect-events.ts";
export {
  type Claim,
  type ClaimRequest,
  EffectLedger,
  type LedgerOptions,
} from "./effects/effect-ledger.ts";
export { REPLAYED_FIELD, UNSETTLED_FIELD } from "./effects/effect-messages.ts";
export type { EffectOptions } from "./effects/effect-options.ts";
export type { EffectRecord, EffectState, StoredOutcome } from "./effects/effect-record.ts";
export type { EffectRun } from "./effects/effect-run.ts";
export { guardsEffect, guardTool, type ToolGuards } from "./effects/guarded-tool.ts";
export { resolveEffect } from "./effects/resolve-effect.ts";
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
export { type Answered, askUntilAnswered } from "./loops/ask-until-answered.ts";
export { blockedCall } from "./loops/blocked-call.ts";
export { guardLoops, type LoopVerdict } from "./loops/guard-loops.ts";
export { observeReply, type ReplyVerdict } from "./loops/idle-reply.ts";
export type { LoopEvent } from "./loops/loop-events.ts";
export {
  type LoopOptions,
  type LoopThresholds,
  type LoopToolOptions,
  NUDGE,
  type ResolvedLoopOptions,
  resolveLoopOptions,
} from "./loops/loop-options.ts";
export { type LoopState, loopState, type ObservedAction, readLoops } from "./loops/loop-state.ts";
export { idleReport, loopHint, loopReport } from "./loops/loop-text.ts";
export { normaliseResult } from "./loops/normalise-result.ts";
export type { LoopKind, LoopReason, Observation } from "./loops/observation.ts";
export { observeAction } from "./loops/observe-action.ts";
export { observeMessages } from "./loops/observe-messages.ts";
export type { ActionInput } from "./loops/observed-action.ts";
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
export { checkOptionKeys, checkOptionSections, type OptionKeys, type OptionSections } from "./option-keys.ts";

// progress
export { askResetIfFull } from "./progress/ask-reset-if-full.ts";
export { guardProgress } from "./progress/guard-progress.ts";
export { grantReset } from "./progress/judge-reset.ts";
export { isKnownSource, type KnownSources, knownSources } from "./progress/known-sources.ts";
export {
  type NormalisedProgress,
  normaliseProgress,
  type PreviousProgress,
} from "./progress/normalise-progress.ts";
export {
  askForReset,
  askNotice,
  progressStop,
  RESET_ASKS,
  type ResetPressure,
} from "./progress/progress-guard.ts";
export { readProgressMark } from "./progress/progress-mark.ts";
export {
  type ProgressOptions,
  type ResolvedProgressOptions,
  resolveProgressOptions,
} from "./progress/progress-options.ts";
export {
  type CallStamp,
  mergeProgress,
  type ProgressCheckpoint,
  type ProgressFact,
  type ProgressState,
  progressState,
  readProgress,
} from "./progress/progress-state.ts";
export { createCheckpointTool, createResetTool } from "./progress/progress-tools.ts";
export type { CutItem } from "./progress/trim-checkpoint.ts";
export { renderCheckpoint, viewAfterReset } from "./progress/view-after-reset.ts";

// recovery
export { type BackoffOptions, backoffDelay, resolveBackoff } from "./recovery/backoff.ts";
export {
  classifyError,
  type Diagnosis,
  diagnoseError,
  type ErrorClassifier,
  type FailureClass,
} from "./recovery/classify-error.ts";
export { oneLine, type RunFailure } from "./recovery/failure.ts";
export { FatalTaskError } from "./recovery/fatal-task-error.ts";
export { type Lease, LeaseStore } from "./recovery/lease-store.ts";
export { answerOpenCalls, lastCalls, type OpenCall } from "./recovery/open-calls.ts";
export {
  DamagedHeadError,
  LeaseHeldError,
  LeaseLostError,
  MissingReferenceError,
} from "./recovery/recovery-errors.ts";
export { type RunRecord, readRunRecord } from "./recovery/run-record.ts";
export { RunStore } from "./recovery/run-store.ts";
export { requestStop, type StopWish } from "./recovery/stop-request.ts";
export type { SupervisableGraph } from "./recovery/supervisable-graph.ts";
export type { RecoveryCaps, ReferenceCheck, SuperviseOptions } from "./recovery/supervise-options.ts";
export { type StateOf, type StreamConfig, superviseRun, superviseStream } from "./recovery/supervise-run.ts";
export type { SupervisedResult } from "./recovery/supervised-result.ts";

// run
export { reportMove } from "./run/report-move.ts";
export { dueResumeNote } from "./run/resume-notes.ts";
export { ForbiddenMoveError } from "./run/run-errors.ts";
export type { RunEvent } from "./run/run-events.ts";
export { assertPermitted, canMove, move, permits, type RunAction } from "./run/run-machine.ts";
export { type RunState, type RunStatus, readRunState, type StopReason } from "./run/run-state.ts";
export { beginStep, endStep, type ResumeNotice, readResumeNotice } from "./run/run-step.ts";
export { latestAnswer, readSeal, replaceAnswer, type Seal, sealed, sealMessage } from "./run/seal.ts";

// state
export { type ChannelField, channelField } from "./state/channel-fields.ts";
export { CHANNEL_REDUCERS } from "./state/channel-reducers.ts";
export { CHANNEL_DESCRIPTIONS, type LonghaulChannel, type LonghaulValues } from "./state/channels.ts";
export {
  currentEmitter,
  graphPlaceOf,
  type NodeConfig,
  nodeConfig,
  runNameOf,
  threadIdOf,
} from "./state/node-config.ts";
export { taskInput } from "./state/task-input.ts";

// storage
export type { Artifact, ArtifactMeta, ArtifactStore } from "./storage/artifact-store.ts";
export { createStorage, type LonghaulStorage } from "./storage/longhaul-storage.ts";
export { MemoryArtifactStore, MemoryRecordStore, memoryStorage } from "./storage/memory-storage.ts";
export { isAlive, type Owner, processOwner, readOwner, sameOwner } from "./storage/owner.ts";
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
export { createToolGuards, type GuardToolsOptions, guardTools, isInvokable } from "./tools/guard-tools.ts";
export {
  callInTime,
  type ModelLimitOptions,
  ModelTimeoutError,
  resolveModelTimeout,
} from "./tools/model-timeout.ts";
export { isForModel, toolErrorMessage } from "./tools/tool-error-message.ts";
export { ToolArgumentsCutError, ToolTimeoutError } from "./tools/tool-errors.ts";
export type { ToolEvent } from "./tools/tool-events.ts";
export type { ToolLimitOptions } from "./tools/tool-limits.ts";
export {
  declaresEffect,
  EFFECT_METADATA,
  type EffectAnswer,
  type EffectKind,
  type ErrorOutcome,
  optionsOf,
  resolveToolOptions,
  type ToolIdentity,
  type ToolOptions,
  type ToolOptionsMap,
  type ToolTraits,
  toolTraits,
} from "./tools/tool-options.ts";

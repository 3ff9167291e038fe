// One section per concern, in alphabetical order of folder; explicit names only.

// artifacts
export { ARTIFACT_REF_PATTERN, artifactRef } from "./artifacts/artifact-ref.ts";

// budget
export { BudgetLedger } from "./budget/budget-ledger.ts";
export type { BudgetLevel, BudgetMirror, BudgetTotals } from "./budget/budget-state.ts";

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
export { type BackoffOptions, backoffDelay, resolveBackoff } from "./recovery/backoff.ts";
export {
  classifyError,
  type Diagnosis,
  diagnoseError,
  type ErrorClassifier,
  type FailureClass,
} from "./recovery/classify-error.ts";
export type { RunFailure } from "./recovery/failure.ts";
export { FatalTaskError } from "./recovery/fatal-task-error.ts";
export { type Lease, LeaseStore } from "./recovery/lease-store.ts";
export {
  DamagedHeadError,
  LeaseHeldError,
  LeaseLostError,
  MissingReferenceError,
} from "./recovery/recovery-errors.ts";
export { type RunRecord, readRunRecord } from "./recovery/run-record.ts";
export { RunStore } from "./recovery/run-store.ts";
export type { SupervisableGraph } from "./recovery/supervisable-graph.ts";
export type { RecoveryCaps, ReferenceCheck, SuperviseOptions } from "./recovery/supervise-options.ts";
export { type StateOf, superviseRun, superviseStream } from "./recovery/supervise-run.ts";
export type { SupervisedResult } from "./recovery/supervised-result.ts";

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
export { isAlive, type Owner, processOwner, readOwner, sameOwner } from "./storage/owner.ts";
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

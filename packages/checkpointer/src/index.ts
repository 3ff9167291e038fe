export type { SaverStats } from "./checkpoint/stats.ts";
export type { VerifyProblem, VerifyReport } from "./checkpoint/verify.ts";
export { CompactSaver, type ThreadInfo } from "./compact-saver.ts";
export type {
  Batch,
  BlobKind,
  CommitResult,
  HeadAddress,
  HeadQuery,
  HeadRow,
  StorageDriver,
  ThreadRow,
  ValueKey,
  ValueRow,
  WriteRow,
} from "./driver/driver.ts";
export {
  DamagedRecordError,
  InvalidAddressError,
  type RecordPlace,
  StorageBusyError,
  StorageClosedError,
  StorageWriteError,
  ThreadGoneError,
  UnreadableTargetError,
  UnstorableValueError,
  UnsupportedTargetError,
  VersionConflictError,
} from "./errors.ts";
export { pinCheckpointer } from "./pin-checkpointer.ts";
export type { CompactSaverOptions } from "./saver-options.ts";

export type { ImportOptions } from "./checkpoint/import-thread.ts";
export type { MigrateOptions, MigrateProgress, MigrateReport } from "./checkpoint/migrate-from.ts";
export type { PruneOptions, PruneReport } from "./checkpoint/prune.ts";
export type { Retention, RetentionPolicy } from "./checkpoint/retention.ts";
export type { GraphMigration, StateMigration, StateMigrations } from "./checkpoint/state-migrations.ts";
export type { SaverStats } from "./checkpoint/stats.ts";
export type { VerifyProblem, VerifyReport } from "./checkpoint/verify.ts";
export { CompactSaver, type ThreadInfo } from "./compact-saver.ts";
export { type CompactSerdeOptions, compactSerde } from "./compact-serde.ts";
export type {
  ArtifactRow,
  ArtifactTable,
  Batch,
  CommitResult,
  HeadAddress,
  HeadQuery,
  HeadRow,
  RecordRow,
  RecordTable,
  Row,
  RowKind,
  StorageDriver,
  Sweep,
  ThreadRow,
  ThreadState,
  ValueKey,
  ValueRow,
  WriteRow,
} from "./driver/driver.ts";
export {
  DamagedRecordError,
  EncryptionError,
  type EncryptionFault,
  FencedWriterError,
  ImportError,
  InvalidAddressError,
  LeasesUnsupportedError,
  NoSuchCheckpointError,
  type RecordPlace,
  RecordTooLargeError,
  StateVersionError,
  type StateVersionFault,
  StorageBusyError,
  StorageClosedError,
  StorageConnectionError,
  StorageWriteError,
  ThreadExistsError,
  ThreadGoneError,
  UnreadableTargetError,
  UnstorableValueError,
  VersionConflictError,
} from "./errors.ts";
export { pinCheckpointer } from "./pin-checkpointer.ts";
export type { CompactSaverOptions, PostgresPoolOptions, RedisOptions } from "./saver-options.ts";

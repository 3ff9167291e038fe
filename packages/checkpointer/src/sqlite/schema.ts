/** `PRAGMA application_id` of our files: "LgHl". */
export const APPLICATION_ID = 0x4c67486c;
/** `PRAGMA user_version`. A newer one than this is refused. */
export const SCHEMA_VERSION = 1;

/**
 * `threads.id` is never used twice, so it is the era of a thread's chunks together with `swept`. `revision` grows with each change of the thread
 * and gives heads their sequence; heads stand in that order, so that a commit appends. Chunks are rows with a row id, because they are long and
 * only ever appended; the other tables are small rows in key order. `artifacts_by_thread` pages through a thread's artifacts without sorting them.
 */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS threads (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  thread_id TEXT NOT NULL UNIQUE,
  revision INTEGER NOT NULL DEFAULT 0,
  swept INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS heads (
  thread INTEGER NOT NULL,
  ns TEXT NOT NULL,
  checkpoint_id TEXT NOT NULL,
  parent_id TEXT,
  sequence INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (thread, sequence)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS heads_by_id ON heads (thread, ns, checkpoint_id);
CREATE INDEX IF NOT EXISTS heads_by_namespace ON heads (thread, ns, sequence);
CREATE TABLE IF NOT EXISTS channel_values (
  thread INTEGER NOT NULL,
  ns TEXT NOT NULL,
  channel TEXT NOT NULL,
  version TEXT NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (thread, ns, channel, version)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS writes (
  thread INTEGER NOT NULL,
  ns TEXT NOT NULL,
  checkpoint_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  idx INTEGER NOT NULL,
  task_path TEXT NOT NULL,
  channel TEXT NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (thread, ns, checkpoint_id, task_id, idx)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  hash BLOB NOT NULL,
  data BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS chunks_by_hash ON chunks (thread, hash);
CREATE TABLE IF NOT EXISTS records (
  collection TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  expires_at REAL,
  data BLOB NOT NULL,
  PRIMARY KEY (collection, thread_id, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_by_thread ON records (thread_id);
CREATE TABLE IF NOT EXISTS artifacts (
  id INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL,
  ref TEXT NOT NULL,
  chars INTEGER NOT NULL,
  meta BLOB NOT NULL,
  data BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS artifacts_by_ref ON artifacts (thread_id, ref);
CREATE INDEX IF NOT EXISTS artifacts_by_thread ON artifacts (thread_id);
`;

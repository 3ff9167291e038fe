/** A newer one than this is refused. */
export const SCHEMA_VERSION = 1;

/**
 * As on SQLite, with two differences: parts of addresses may be longer than an index takes, so keys are hashes of them; blobs are packed
 * already, so they are stored as they are.
 *
 * @param schema quoted
 */
export function schemaOf(schema: string): string {
  return `
CREATE SCHEMA IF NOT EXISTS ${schema};
CREATE TABLE IF NOT EXISTS ${schema}.meta (version integer NOT NULL);
CREATE TABLE IF NOT EXISTS ${schema}.threads (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL UNIQUE,
  thread_id text COLLATE "C" NOT NULL,
  revision bigint NOT NULL DEFAULT 0,
  swept bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS ${schema}.heads (
  thread bigint NOT NULL,
  key bytea NOT NULL,
  ns text COLLATE "C" NOT NULL,
  checkpoint_id text COLLATE "C" NOT NULL,
  parent_id text COLLATE "C",
  sequence bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (thread, key)
);
CREATE INDEX IF NOT EXISTS heads_by_sequence ON ${schema}.heads (thread, sequence);
CREATE INDEX IF NOT EXISTS heads_by_namespace ON ${schema}.heads (thread, left(ns, 400), sequence);
CREATE TABLE IF NOT EXISTS ${schema}.channel_values (
  thread bigint NOT NULL,
  key bytea NOT NULL,
  ns text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (thread, key)
);
CREATE TABLE IF NOT EXISTS ${schema}.writes (
  thread bigint NOT NULL,
  head bytea NOT NULL,
  key bytea NOT NULL,
  ns text COLLATE "C" NOT NULL,
  checkpoint_id text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  idx integer NOT NULL,
  task_path text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (thread, head, key)
);
CREATE TABLE IF NOT EXISTS ${schema}.chunks (
  thread bigint NOT NULL,
  hash bytea NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (thread, hash)
);
CREATE TABLE IF NOT EXISTS ${schema}.records (
  id bytea PRIMARY KEY,
  thread bytea NOT NULL,
  collection text COLLATE "C" NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  expires_at double precision,
  data bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS records_by_key ON ${schema}.records (thread, left(collection, 100), left(key, 400));
CREATE TABLE IF NOT EXISTS ${schema}.artifacts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thread bytea NOT NULL,
  key bytea NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  ref text COLLATE "C" NOT NULL,
  chars bigint NOT NULL,
  meta bytea NOT NULL,
  data bytea NOT NULL,
  UNIQUE (thread, key)
);
${["heads", "channel_values", "writes", "chunks", "records", "artifacts"]
  .map((table) => `ALTER TABLE ${schema}.${table} ALTER COLUMN data SET STORAGE EXTERNAL;`)
  .join("\n")}
INSERT INTO ${schema}.meta (version) SELECT ${SCHEMA_VERSION} WHERE NOT EXISTS (SELECT 1 FROM ${schema}.meta);
`;
}

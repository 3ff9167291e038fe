import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { type Deps, MissingPeerError } from "@longhaul/core";
import type BetterSqlite3 from "better-sqlite3";
import {
  DamagedRecordError,
  StorageBusyError,
  StorageClosedError,
  StorageWriteError,
  UnreadableTargetError,
} from "../errors.ts";
import { SerialQueue } from "../serial-queue.ts";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "./schema.ts";

export type Database = BetterSqlite3.Database;
export type Statement = BetterSqlite3.Statement;

export interface ConnectionOptions {
  readonly path: string;
  readonly readOnly: boolean;
  readonly busyWaitMs: number;
  readonly deps: Deps;
}

/** Milliseconds that SQLite itself may wait, blocking the event loop. */
const BLOCKING_WAIT_MS = 5;
const BACKOFF_MS = [1, 2, 5, 10, 20, 40] as const;
const PAGE_SIZE = 8192;
/** Bytes. */
const LOG_LIMIT = 4 * 2 ** 20;
/** Bytes before which no SQLite file ends. */
const HEADER_SIZE = 100;

/**
 * One connection, opened at the first call. Calls run one after another in the order in which they were made, each as one short
 * synchronous piece; while another process holds the lock the event loop runs on.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #statements = new Map<string, Statement>();
  #database: Database | undefined;
  #closed = false;
  readonly #queue = new SerialQueue();

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get target(): string {
    return this.#options.path;
  }

  /** Reads outside a transaction. */
  read<T>(job: (database: Database) => T): Promise<T> {
    return this.#enqueue(job);
  }

  /** Runs `job` in an immediate transaction. With `durable` it survives a power loss when the promise resolves. */
  write<T>(job: (database: Database) => T, options: { readonly durable?: boolean } = {}): Promise<T> {
    return this.#enqueue((database) => {
      if (this.#options.readOnly) throw new StorageWriteError({ target: this.target, reason: "read-only" });
      if (options.durable) database.pragma("synchronous = FULL");
      try {
        database.exec("BEGIN IMMEDIATE");
        try {
          const result = job(database);
          database.exec("COMMIT");
          return result;
        } catch (error) {
          if (database.inTransaction) database.exec("ROLLBACK");
          throw error;
        }
      } finally {
        if (options.durable) database.pragma("synchronous = NORMAL");
      }
    });
  }

  /** A statement, compiled once. */
  statement(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      if (!this.#database) throw new StorageClosedError();
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  async open(): Promise<void> {
    await this.#enqueue(() => undefined);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.idle();
    this.#statements.clear();
    const database = this.#database;
    this.#database = undefined;
    if (!database) return;
    try {
      // others may keep the file open, so that SQLite leaves the log as long as it ever was
      if (!this.#options.readOnly) database.pragma("wal_checkpoint(TRUNCATE)");
    } catch (error) {
      // the log is replayed by whoever opens the file next
      if (codeOf(error) === undefined) throw error;
    } finally {
      database.close();
    }
  }

  #enqueue<T>(job: (database: Database) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new StorageClosedError());
    return this.#queue.run(() => this.#attempt(job));
  }

  async #attempt<T>(job: (database: Database) => T): Promise<T> {
    const { clock, random } = this.#options.deps;
    const start = clock.monotonic();
    for (let attempt = 0; ; attempt++) {
      try {
        this.#database ??= await this.#connect();
        return job(this.#database);
      } catch (error) {
        if (!isBusy(error)) throw this.#translate(error);
        const waited = clock.monotonic() - start;
        if (waited >= this.#options.busyWaitMs) {
          throw new StorageBusyError({ target: this.target, waitedMs: waited, cause: error });
        }
        const base = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)] as number;
        await clock.sleep(base * (0.5 + random()));
      }
    }
  }

  async #connect(): Promise<Database> {
    const { path, readOnly } = this.#options;
    const Sqlite = await loadSqlite();
    // looking at the file needs no write, so that a foreign one stays as it is
    if (path !== ":memory:" && existsSync(path)) {
      if (readOnly || !isOurs(path)) inspect(Sqlite, path);
    } else if (readOnly) throw new UnreadableTargetError({ target: path, reason: "there is no such file" });
    let database: Database;
    try {
      database = new Sqlite(path, { readonly: readOnly, timeout: BLOCKING_WAIT_MS });
    } catch (cause) {
      if (isBusy(cause)) throw cause;
      throw new UnreadableTargetError({ target: path, reason: reasonOf(cause), cause });
    }
    try {
      if (!readOnly) prepare(database);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #translate(error: unknown): unknown {
    const code = codeOf(error);
    const target = this.target;
    if (code === undefined) return error;
    if (code.startsWith("SQLITE_FULL"))
      return new StorageWriteError({ target, reason: "full", cause: error });
    if (code.startsWith("SQLITE_READONLY"))
      return new StorageWriteError({ target, reason: "read-only", cause: error });
    if (code.startsWith("SQLITE_IOERR")) return new StorageWriteError({ target, reason: "io", cause: error });
    if (code.startsWith("SQLITE_NOTADB"))
      return new UnreadableTargetError({ target, reason: reasonOf(error), cause: error });
    if (
      code.startsWith("SQLITE_CANTOPEN") ||
      code.startsWith("SQLITE_PERM") ||
      code.startsWith("SQLITE_AUTH")
    )
      return new UnreadableTargetError({ target, reason: reasonOf(error), cause: error });
    // a table or column of ours that is not there, a row that breaks its own constraints: our statements are fixed
    // a length that no row of ours has (TOOBIG, NOMEM)
    return new DamagedRecordError({
      reason: `the database file ${target} is damaged (${reasonOf(error)})`,
      cause: error,
    });
  }
}

async function loadSqlite(): Promise<typeof BetterSqlite3> {
  try {
    return (await import("better-sqlite3")).default;
  } catch (cause) {
    throw new MissingPeerError({ packageName: "better-sqlite3", neededFor: "A SQLite checkpointer", cause });
  }
}

/** @throws UnreadableTargetError unless the file is empty or ours, of a version that we know. */
function inspect(Sqlite: typeof BetterSqlite3, path: string): void {
  const refuse = (reason: string, cause?: unknown) =>
    new UnreadableTargetError({ target: path, reason, cause });
  const stat = statSync(path);
  if (!stat.isFile()) throw refuse("it is not a file");
  if (stat.size === 0) return;
  // SQLite takes a file of less than its header for an empty database and writes over it
  if (stat.size < HEADER_SIZE) throw refuse("it is too short to be a database");
  let database: Database | undefined;
  try {
    database = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: BLOCKING_WAIT_MS });
    const id = database.pragma("application_id", { simple: true });
    const version = Number(database.pragma("user_version", { simple: true }));
    if (id === APPLICATION_ID) {
      if (version > SCHEMA_VERSION) throw newer(path, version);
      return;
    }
    const tables = database.prepare("SELECT count(*) AS n FROM sqlite_schema").get() as { n: number };
    if (tables.n > 0) throw refuse("it is the database of another program");
  } catch (cause) {
    if (isBusy(cause) || UnreadableTargetError.isInstance(cause)) throw cause;
    throw refuse(reasonOf(cause), cause);
  } finally {
    database?.close();
  }
}

/** By its header alone, which saves opening it twice. Its log may say otherwise: `prepare` looks again. */
function isOurs(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const header = Buffer.alloc(HEADER_SIZE);
  const file = openSync(path, "r");
  try {
    readSync(file, header, 0, HEADER_SIZE, 0);
  } finally {
    closeSync(file);
  }
  return (
    header.toString("latin1", 0, 16) === "SQLite format 3\0" &&
    header.readUInt32BE(60) === SCHEMA_VERSION &&
    header.readUInt32BE(68) === APPLICATION_ID
  );
}

function prepare(database: Database): void {
  database.pragma(`page_size = ${PAGE_SIZE}`);
  // set before the first table, or never: lets the file shrink in small steps
  database.pragma("auto_vacuum = INCREMENTAL");
  database.pragma("journal_mode = WAL");
  // a process death loses nothing; what must survive a power loss asks for it
  database.pragma("synchronous = NORMAL");
  // a log that grew under a long reader goes back to this at the next checkpoint
  database.pragma(`journal_size_limit = ${LOG_LIMIT}`);
  const id = database.pragma("application_id", { simple: true });
  const version = Number(database.pragma("user_version", { simple: true }));
  if (id === APPLICATION_ID && version > SCHEMA_VERSION) throw newer(database.name, version);
  if (id === APPLICATION_ID && version === SCHEMA_VERSION) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(SCHEMA);
    database.pragma(`application_id = ${APPLICATION_ID}`);
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function newer(path: string, version: number): UnreadableTargetError {
  return new UnreadableTargetError({
    target: path,
    reason: `it was written by a newer version (schema ${version})`,
  });
}

function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  // PROTOCOL: too many processes began to read the log at once
  return code !== undefined && /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code);
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : undefined;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

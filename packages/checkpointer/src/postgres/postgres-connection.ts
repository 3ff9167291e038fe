import { MissingPeerError } from "@longhaul/core";
import type Pg from "pg";
import {
  StorageBusyError,
  StorageClosedError,
  StorageConnectionError,
  StorageWriteError,
  UnreadableTargetError,
} from "../errors.ts";
import { SCHEMA_VERSION, schemaOf } from "./postgres-schema.ts";

export interface PostgresConnectionOptions {
  readonly url: string;
  readonly target: string;
  readonly schema: string;
  /** Makes no tables and refuses to write. */
  readonly readOnly: boolean;
  readonly busyWaitMs: number;
  readonly max: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/** Runs one statement. */
export type Query = <R>(sql: string, values?: readonly unknown[]) => Promise<R[]>;

/** Key of the advisory lock under which tables are made. */
const SETUP_LOCK = 0x4c67486c;
const TRIES = 5;

/** A pool, opened at the first call, with its tables made and its errors typed. */
export class PostgresConnection {
  readonly #options: PostgresConnectionOptions;
  #pool: Promise<Pg.Pool> | undefined;
  #closed = false;

  constructor(options: PostgresConnectionOptions) {
    this.#options = options;
  }

  /** Of a table, quoted. */
  table(name: string): string {
    return `${quote(this.#options.schema)}.${name}`;
  }

  async open(): Promise<void> {
    await this.#guarded(() => this.#open());
  }

  async close(): Promise<void> {
    this.#closed = true;
    const pool = await this.#pool?.catch(() => undefined);
    this.#pool = undefined;
    await pool?.end();
  }

  refuseClosed(): void {
    if (this.#closed) throw new StorageClosedError();
  }

  /** One statement outside a transaction. Repeated once when the pooled connection turns out to be dead: reading twice does no harm. */
  async read<R>(sql: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.#guarded(async () => {
      const pool = await this.#open();
      try {
        return (await pool.query(sql, values as unknown[])).rows as R[];
      } catch (error) {
        if (!isConnectionError(error)) throw error;
        return (await pool.query(sql, values as unknown[])).rows as R[];
      }
    });
  }

  /**
   * A transaction. What is not `durable` is acknowledged before the server has synced its log: a death of this process loses nothing, a crash
   * of the server's machine may lose the last moments, in order. What was certainly not applied (deadlock, dead pooled connection at the
   * beginning) is tried again.
   *
   * @param first statements without parameters that go out together with `BEGIN`; the job gets their rows. Saves a round trip for each.
   */
  async write<T>(
    job: (query: Query, opened: readonly (readonly unknown[])[]) => Promise<T>,
    { durable = false, first = [] }: { readonly durable?: boolean; readonly first?: readonly string[] } = {},
  ): Promise<T> {
    const { readOnly, target } = this.#options;
    if (readOnly) throw new StorageWriteError({ target, reason: "read-only" });
    const begin = ["BEGIN", ...(durable ? [] : ["SET LOCAL synchronous_commit = off"]), ...first];
    return this.#guarded(async () => {
      const pool = await this.#open();
      for (let attempt = 1; ; attempt++) {
        const client = await pool.connect();
        let began = false;
        try {
          const answers: unknown = await client.query(begin.join("; "));
          began = true;
          const opened = first.length > 0 ? (answers as Pg.QueryResult[]).slice(-first.length) : [];
          const query: Query = async (sql, values = []) =>
            (await client.query(sql, values as unknown[])).rows as never[];
          const result = await job(
            query,
            opened.map(({ rows }) => rows),
          );
          await client.query("COMMIT");
          client.release();
          return result;
        } catch (error) {
          const isDead = isConnectionError(error);
          // also where the beginning failed: its `BEGIN` may have worked and a statement behind it not
          if (!isDead) await client.query("ROLLBACK").catch(() => undefined);
          client.release(isDead);
          const isUnapplied = isDead ? !began : isConflict(error);
          if (!isUnapplied || attempt >= TRIES) throw error;
        }
      }
    });
  }

  #open(): Promise<Pg.Pool> {
    this.refuseClosed();
    this.#pool ??= this.#connect().catch((error: unknown) => {
      this.#pool = undefined;
      throw error;
    });
    return this.#pool;
  }

  async #connect(): Promise<Pg.Pool> {
    const { url, busyWaitMs, max, connectTimeoutMs, statementTimeoutMs } = this.#options;
    const { Pool } = await loadPg();
    const pool = new Pool({
      connectionString: withoutOurs(url),
      max,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      lock_timeout: Math.max(1, busyWaitMs),
      keepAlive: true,
      // an idle pool must not keep a process alive that has done its work
      allowExitOnIdle: true,
    });
    // a connection that dies while idle is replaced at the next call
    pool.on("error", () => undefined);
    // one that dies within a transaction fails its query; the event besides would end the process
    pool.on("connect", (client) => void client.on("error", () => undefined));
    try {
      await prepare(pool, this.#options);
      return pool;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }

  async #guarded<T>(job: () => Promise<T>): Promise<T> {
    try {
      return await job();
    } catch (error) {
      throw this.#translate(error);
    }
  }

  #translate(error: unknown): unknown {
    const { target, busyWaitMs, statementTimeoutMs } = this.#options;
    const code = codeOf(error);
    const reason = reasonOf(error);
    if (isConnectionError(error)) return new StorageConnectionError({ target, reason, cause: error });
    if (code === "55P03") return new StorageBusyError({ target, waitedMs: busyWaitMs, cause: error });
    if (code === "57014" || isConflict(error))
      return new StorageBusyError({ target, waitedMs: statementTimeoutMs, cause: error });
    if (code === undefined) return error;
    if (code.startsWith("53")) return new StorageWriteError({ target, reason: "full", cause: error });
    if (code === "25006" || code === "42501")
      return new StorageWriteError({ target, reason: "read-only", cause: error });
    if (code.startsWith("58") || code.startsWith("XX"))
      return new StorageWriteError({ target, reason: "io", cause: error });
    if (/^(28|3D|3F|42)/.test(code)) return new UnreadableTargetError({ target, reason, cause: error });
    return error;
  }
}

/** Makes the tables where there are none. Those that others use are not touched: altering would wait for them, or lock them out. */
async function prepare(
  pool: Pg.Pool,
  { schema, target, readOnly }: PostgresConnectionOptions,
): Promise<void> {
  const client = await pool.connect();
  const version = async (): Promise<number | undefined> => {
    const meta = `${quote(schema)}.meta`;
    const found = await client.query("SELECT to_regclass($1) IS NOT NULL AS exists", [meta]);
    if (!(found.rows[0] as { exists: boolean }).exists) return undefined;
    return ((await client.query(`SELECT version FROM ${meta}`)).rows[0] as { version: number } | undefined)
      ?.version;
  };
  try {
    let stored = await version();
    if (stored === undefined && readOnly)
      throw new UnreadableTargetError({ target, reason: `schema ${schema} has no tables of ours` });
    if (stored === undefined) {
      // of the session, not of a transaction: only a new transaction is sure to see the tables that another has made meanwhile
      await client.query(`SELECT pg_advisory_lock(${SETUP_LOCK})`);
      try {
        stored = await version();
        if (stored === undefined) {
          await client.query("BEGIN");
          await client.query(schemaOf(quote(schema)));
          await client.query("COMMIT");
        }
      } catch (error) {
        await client.query("ROLLBACK").catch(() => undefined);
        throw error;
      } finally {
        await client.query(`SELECT pg_advisory_unlock(${SETUP_LOCK})`).catch(() => undefined);
      }
    }
    if (stored !== undefined && stored > SCHEMA_VERSION)
      throw new UnreadableTargetError({
        target,
        reason: `it was written by a newer version (schema ${stored})`,
      });
  } finally {
    client.release();
  }
}

async function loadPg(): Promise<typeof Pg> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    throw new MissingPeerError({ packageName: "pg", neededFor: "A Postgres checkpointer", cause });
  }
}

/** `?schema=` and `?mode=` are ours; the client would not know them. */
function withoutOurs(url: string): string {
  const parsed = new URL(url);
  for (const name of ["schema", "mode"]) parsed.searchParams.delete(name);
  return parsed.href;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function isConflict(error: unknown): boolean {
  return /^40(001|P01)$/.test(codeOf(error) ?? "");
}

function isConnectionError(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined && (/^(08|57P0[1-5])/.test(code) || code === "53300")) return true;
  if (code !== undefined && /^(ECONN|EPIPE|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT)/.test(code)) return true;
  return (
    error instanceof Error &&
    /^(Connection terminated|timeout exceeded|Client has encountered)/i.test(error.message)
  );
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message;
  return error instanceof Error ? error.message : String(error);
}

import pg from "pg";

export const DATABASE = process.env.TEST_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/postgres";

/** The app's own tables: what is to be done, and what was done in the world. Longhaul's tables stand in a schema beside them. */
const TABLES = `
  CREATE TABLE jobs (thread text PRIMARY KEY, task text NOT NULL, ended text, told boolean NOT NULL DEFAULT false);
  CREATE TABLE deeds (seq serial PRIMARY KEY, thread text NOT NULL, deed text NOT NULL, key text UNIQUE, pid int NOT NULL);`;

export interface Deed {
  readonly thread: string;
  readonly deed: string;
  readonly times: number;
}

export interface Ending {
  readonly thread: string;
  /** null: open. */
  readonly ended: string | null;
  readonly told: boolean;
}

/** Jobs and deeds, in a schema of their own. */
export class Database {
  readonly #pool: pg.Pool;
  readonly #schema: string;

  constructor(url: string, schema: string) {
    this.#schema = schema;
    this.#pool = new pg.Pool({ connectionString: url, max: 2, options: `-c search_path=${schema}` });
    // a worker outlives a restart of its database: the next query connects anew
    this.#pool.on("error", () => {});
  }

  async create(tasks: readonly string[]): Promise<void> {
    await this.#pool.query(`CREATE SCHEMA ${this.#schema}; SET search_path TO ${this.#schema}; ${TABLES}`);
    await this.#pool.query(
      "INSERT INTO jobs SELECT 'run-' || n, task FROM unnest($1::text[]) WITH ORDINALITY AS t(task, n)",
      [tasks],
    );
  }

  /** Jobs that nobody has ended, in random order, so that workers seldom try the same one. Their leases say who drives them. */
  async openJobs(): Promise<{ readonly thread: string; readonly task: string }[]> {
    return (await this.#pool.query("SELECT thread, task FROM jobs WHERE ended IS NULL ORDER BY random()"))
      .rows;
  }

  /** @param told whether the agent was told that an outcome is unknown */
  async endJob(thread: string, how: string, told: boolean): Promise<void> {
    await this.#pool.query("UPDATE jobs SET ended = $2, told = $3 WHERE thread = $1", [thread, how, told]);
  }

  async endings(): Promise<readonly Ending[]> {
    return (await this.#pool.query("SELECT thread, ended, told FROM jobs")).rows;
  }

  /** Does a deed; one with a key is done once, as a good server does it. */
  async perform(thread: string, deed: string, key: string | null): Promise<void> {
    await this.#pool.query(
      "INSERT INTO deeds (thread, deed, key, pid) VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING",
      [thread, deed, key, process.pid],
    );
  }

  async isDone(thread: string, deed: string): Promise<boolean> {
    const { rows } = await this.#pool.query("SELECT 1 FROM deeds WHERE thread = $1 AND deed = $2", [
      thread,
      deed,
    ]);
    return rows.length > 0;
  }

  async deeds(): Promise<Deed[]> {
    return (
      await this.#pool.query("SELECT thread, deed, count(*)::int AS times FROM deeds GROUP BY thread, deed")
    ).rows;
  }

  async drop(): Promise<void> {
    await this.#pool.query(`DROP SCHEMA IF EXISTS ${this.#schema} CASCADE`);
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}
